// Times convolutions on this GPU with each of cuDNN's algorithms and with Tandem's own kernels, in microseconds. The
// rule in kernels/cuda/cudnn.cpp that chooses between them is based on these times.
//
//   benchmark_convolutions
#include <cudnn.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "tandem/kernels/convolution.h"
#include "tandem/kernels/cuda/native_convolution.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

const Device kCudaDevice("cuda");
constexpr size_t kMaxWorkspaceBytes = size_t(512) << 20;

/// Sizes of one convolution, with square images and kernels.
struct ConvCase {
  int images, channels, size, kernel, filters, padding;
  int out_size() const { return size + 2 * padding - kernel + 1; }
};
constexpr ConvCase kConvCases[] = {{64, 1, 28, 3, 32, 1},  {512, 1, 28, 3, 32, 1},  // FashionCNN's
                                   {64, 32, 14, 3, 64, 0}, {512, 32, 14, 3, 64, 0},
                                   {64, 1, 28, 5, 10, 0},  {64, 10, 12, 5, 20, 0},  // LeNet's
                                   {64, 64, 28, 3, 64, 1}};

/// Returns the time of a call: the median of five samples, each the mean of ten calls timed by events.
double measure_microseconds(const std::function<void()>& f) {
  const cuda::Stream stream = cuda::current_stream(kCudaDevice);
  for (int i = 0; i < 3; ++i) f();
  std::vector<double> means;
  for (int sample = 0; sample < 5; ++sample) {
    cuda::Event start(true), end(true);
    start.record(stream);
    for (int i = 0; i < 10; ++i) f();
    end.record(stream);
    stream.synchronize();
    means.push_back(start.elapsed_time(end) * 1e3 / 10);
  }
  std::sort(means.begin(), means.end());
  return means[means.size() / 2];
}
/// Times one of cuDNN's algorithms and prints the result. Prints nothing if the algorithm does not support the case or
/// needs a workspace of more than kMaxWorkspaceBytes bytes.
/// @param ask  ask(bytes) sets `bytes` to the size of the workspace and returns cuDNN's status
/// @param run  run(data, bytes) runs the convolution with this workspace and returns cuDNN's status
template <class Ask, class Run> void time_algorithm(int number, const Ask& ask, const Run& run) {
  size_t bytes = 0;
  if (ask(bytes) != CUDNN_STATUS_SUCCESS || bytes > kMaxWorkspaceBytes) return;
  const Tensor workspace = empty({static_cast<int64_t>(bytes) + 1}, TensorOptions(kUInt8).device(kCudaDevice));
  if (run(workspace.data_ptr(), bytes) != CUDNN_STATUS_SUCCESS) return;
  std::printf("  %d: %.1f", number, measure_microseconds([&] { run(workspace.data_ptr(), bytes); }));
}

void time_case(cudnnHandle_t handle, const ConvCase& c, DType dtype, bool last) {
  const MemoryFormat memory = last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
  const auto tensor = [&](int n, int channels, int size) {
    return randn({n, channels, size, size}, TensorOptions(kCudaDevice)).to(dtype).contiguous(memory);
  };
  Tensor x = tensor(c.images, c.channels, c.size), w = tensor(c.filters, c.channels, c.kernel),
         y = tensor(c.images, c.filters, c.out_size());
  kernels::ConvShape shape{{1, 1}, {c.padding, c.padding}, {1, 1}, 1};
  shape.channels_last = last;

  const cudnnTensorFormat_t format = last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  const cudnnDataType_t type = dtype == kBFloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  cudnnTensorDescriptor_t xs, ys;
  cudnnFilterDescriptor_t ws;
  cudnnConvolutionDescriptor_t convolution;
  cudnnCreateTensorDescriptor(&xs), cudnnCreateTensorDescriptor(&ys);
  cudnnCreateFilterDescriptor(&ws), cudnnCreateConvolutionDescriptor(&convolution);
  cudnnSetTensor4dDescriptor(xs, format, type, c.images, c.channels, c.size, c.size);
  cudnnSetTensor4dDescriptor(ys, format, type, c.images, c.filters, c.out_size(), c.out_size());
  cudnnSetFilter4dDescriptor(ws, type, format, c.filters, c.channels, c.kernel, c.kernel);
  cudnnSetConvolution2dDescriptor(convolution, c.padding, c.padding, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                  CUDNN_DATA_FLOAT);
  cudnnSetConvolutionMathType(convolution, dtype == kBFloat16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH);

  std::printf("%s %s %d x %d x %d x %d, kernel %d, %d filters, padding %d\n",
              dtype == kBFloat16 ? "bfloat16" : "float32", last ? "channels-last" : "row-major", c.images, c.channels,
              c.size, c.size, c.kernel, c.filters, c.padding);
  const float one = 1, zero = 0;
  std::printf("  forward          own: %.1f", measure_microseconds([&] {
                kernels::cuda::native_convolution({kernels::ConvPass::forward, x, w, Tensor(), y, shape});
              }));
  for (int i = 0; i < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++i) {
    const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(i);
    time_algorithm(
        i,
        [&](size_t& bytes) {
          return cudnnGetConvolutionForwardWorkspaceSize(handle, xs, ws, convolution, ys, algorithm, &bytes);
        },
        [&](void* space, size_t bytes) {
          return cudnnConvolutionForward(handle, &one, xs, x.data_ptr(), ws, w.data_ptr(), convolution, algorithm,
                                         space, bytes, &zero, ys, y.data_ptr());
        });
  }
  std::printf("\n  backward, input  own: %.1f", measure_microseconds([&] {
                kernels::cuda::native_convolution({kernels::ConvPass::backward_input, x, w, Tensor(), y, shape});
              }));
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT; ++i) {
    const auto algorithm = static_cast<cudnnConvolutionBwdDataAlgo_t>(i);
    time_algorithm(
        i,
        [&](size_t& bytes) {
          return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, ws, ys, convolution, xs, algorithm, &bytes);
        },
        [&](void* space, size_t bytes) {
          return cudnnConvolutionBackwardData(handle, &one, ws, w.data_ptr(), ys, y.data_ptr(), convolution, algorithm,
                                              space, bytes, &zero, xs, x.data_ptr());
        });
  }
  std::printf("\n  backward, weight own: %.1f", measure_microseconds([&] {
                kernels::cuda::native_convolution({kernels::ConvPass::backward_weight, x, w, Tensor(), y, shape});
              }));
  for (int i = 0; i < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT; ++i) {
    const auto algorithm = static_cast<cudnnConvolutionBwdFilterAlgo_t>(i);
    time_algorithm(
        i,
        [&](size_t& bytes) {
          return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, xs, ys, convolution, ws, algorithm, &bytes);
        },
        [&](void* space, size_t bytes) {
          return cudnnConvolutionBackwardFilter(handle, &one, xs, x.data_ptr(), ys, y.data_ptr(), convolution,
                                                algorithm, space, bytes, &zero, ws, w.data_ptr());
        });
  }
  std::printf("\n");
  cudnnDestroyTensorDescriptor(xs), cudnnDestroyTensorDescriptor(ys);
  cudnnDestroyFilterDescriptor(ws), cudnnDestroyConvolutionDescriptor(convolution);
}

}  // namespace

int main() try {
  TANDEM_CHECK(cuda::is_available(), "benchmark_convolutions needs a CUDA GPU, and none can be used");
  cudnnHandle_t handle;
  const cudnnStatus_t status = cudnnCreate(&handle);
  TANDEM_CHECK(status == CUDNN_STATUS_SUCCESS,
               "benchmark_convolutions: cudnnCreate failed: ", cudnnGetErrorString(status));
  cudnnSetStream(handle, reinterpret_cast<cudaStream_t>(cuda::current_stream(kCudaDevice).handle()));
  for (const DType dtype : {kFloat32, kBFloat16})
    for (const ConvCase& c : kConvCases)
      for (const bool last : {false, true}) time_case(handle, c, dtype, last);
  cudnnDestroy(handle);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
