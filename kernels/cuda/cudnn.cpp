// Convolutions by cuDNN's older API, which has one function for each pass. (The newer graph API would take minutes to
// compile.) The function heuristic_algorithms() chooses the algorithm; all algorithms that it chooses add in a fixed
// order. If deterministic algorithms are off, the first call with a shape tries all algorithms instead (except during
// stream capture, where nothing can be timed).
#include "tandem/kernels/cuda/cudnn.h"

#if TANDEM_HAS_CUDNN
#include <cudnn.h>

#include <climits>
#include <map>

#include "tandem/core/cuda/cuda.h"
#include "tandem/kernels/cuda/handle_pool.h"

namespace tandem::kernels::cuda {
namespace {

/// Maximum workspace in bytes; algorithms that need more are skipped.
constexpr size_t kWorkspaceLimit = size_t(512) << 20;

/// Everything that determines the algorithm.
struct Problem {
  ConvPass pass;
  DType dtype;
  Float32Precision precision;
  bool deterministic;
  std::array<int, 4> x, w, y;
  ConvShape shape;
  auto operator<=>(const Problem&) const = default;
};
void check_status(cudnnStatus_t status, const ConvCall& call) {
  TANDEM_CHECK_AS(CudaError, status == CUDNN_STATUS_SUCCESS, pass_name(call.pass), " of ", call.x.sizes(),
                  " with weights ", call.w.sizes(), " to ", call.y.sizes(), " in ", call.x.dtype(), " on ",
                  call.x.device(), " failed in cuDNN: ", cudnnGetErrorString(status));
}
/// Returns whether the status means that cuDNN does not support the case. Since version 9, each reason has its own
/// code. Codes that indicate an incomplete installation count as errors, because a silent fallback to Tandem's kernels
/// would hide the problem.
bool is_unsupported(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  switch (status) {
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART:
    case CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE: return false;
    default: return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
  }
#else
  return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

cudnnDataType_t data_type(const Problem& p) {
  switch (p.dtype) {
    case kFloat64: return CUDNN_DATA_DOUBLE;
    case kFloat16: return CUDNN_DATA_HALF;
    case kBFloat16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}
/// Returns the type in which products are summed: float for half types.
cudnnDataType_t compute_type(const Problem& p) { return p.dtype == kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }
cudnnMathType_t math_type(const Problem& p) {
  if (is_reduced_floating_point(p.dtype)) return CUDNN_TENSOR_OP_MATH;
  return p.precision == Float32Precision::highest ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}
/// Returns algorithms in order of preference, or none if Tandem's own kernel is faster. All of them add in a fixed
/// order, which excludes cuDNN's backward-data algorithm 0 and backward-filter algorithms 0 and 3. Algorithms by
/// transforms (FFT, Winograd) are excluded because their rounding errors are larger than those of a sum of products.
/// The numeric limits below were measured on an H200 (benchmarks/results/gpu_convolutions.txt): each choice is used for
/// the sizes at which it was fastest.
std::vector<int> heuristic_algorithms(const Problem& p) {
  const double taps = double(p.w[1]) * p.w[2] * p.w[3];
  const double products = taps * p.y[0] * p.y[1] * p.y[2] * p.y[3];
  const bool half = is_reduced_floating_point(p.dtype),
             full = p.dtype == kFloat32 && p.precision == Float32Precision::highest;
  const bool measured = p.shape.groups == 1 && (half || full);
  const std::vector<int> precomputed = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
                         plain = {precomputed[1], precomputed[0]};
  switch (p.pass) {
    case ConvPass::forward:
      if (!measured) return precomputed;
      if (products < (half ? 16e6 : 25e6)) return {};
      if (half) return p.w[1] % 8 == 0 ? precomputed : plain;
      return taps >= 64 && products < 1e9 ? plain : precomputed;
    case ConvPass::backward_input: return {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
    default:
      if (measured && products < (half ? 25e6 : 1.5e9)) return {};
      return {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
  }
}

/// Descriptors for one problem (a combination of pass, shapes and dtype), and the chosen algorithm.
struct Plan {
  Plan(const Problem& p, const ConvCall& call);
  Plan(const Plan&) = delete;
  ~Plan() {
    for (cudnnTensorDescriptor_t each : {x, y, bias})
      if (each) cudnnDestroyTensorDescriptor(each);
    if (w) cudnnDestroyFilterDescriptor(w);
    if (convolution) cudnnDestroyConvolutionDescriptor(convolution);
  }
  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  bool has_searched = false;     // whether an algorithm for this problem was already searched
  std::optional<int> algorithm;  // cuDNN's algorithm; nullopt: use Tandem's own kernels
  size_t workspace_bytes = 0;
};

Plan::Plan(const Problem& p, const ConvCall& call) {
  const cudnnDataType_t type = data_type(p);
  const cudnnTensorFormat_t format = p.shape.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  const auto tensor = [&](cudnnTensorDescriptor_t& descriptor, int n, int c, int h, int width) {
    check_status(cudnnCreateTensorDescriptor(&descriptor), call);
    check_status(cudnnSetTensor4dDescriptor(descriptor, format, type, n, c, h, width), call);
  };
  tensor(x, p.x[0], p.x[1], p.x[2], p.x[3]);
  tensor(y, p.y[0], p.y[1], p.y[2], p.y[3]);
  tensor(bias, 1, p.y[1], 1, 1);
  check_status(cudnnCreateFilterDescriptor(&w), call);
  check_status(cudnnSetFilter4dDescriptor(w, type, format, p.w[0], p.w[1], p.w[2], p.w[3]), call);
  const auto pair = [](const int64_t(&values)[2], int i) { return static_cast<int>(values[i]); };
  const ConvShape& s = p.shape;
  check_status(cudnnCreateConvolutionDescriptor(&convolution), call);
  check_status(cudnnSetConvolution2dDescriptor(convolution, pair(s.padding, 0), pair(s.padding, 1), pair(s.stride, 0),
                                               pair(s.stride, 1), pair(s.dilation, 0), pair(s.dilation, 1),
                                               CUDNN_CROSS_CORRELATION, compute_type(p)),
               call);
  check_status(cudnnSetConvolutionGroupCount(convolution, static_cast<int>(s.groups)), call);
  check_status(cudnnSetConvolutionMathType(convolution, math_type(p)), call);
}

struct Context {
  explicit Context(Device device) {
    const gpu::DeviceGuard guard(device.index());
    const cudnnStatus_t status = cudnnCreate(&handle);
    TANDEM_CHECK_AS(CudaError, status == CUDNN_STATUS_SUCCESS, "cuDNN could not be initialized on ", device, ": ",
                    cudnnGetErrorString(status));
  }
  cudnnHandle_t handle = nullptr;
  std::map<Problem, Plan> plans;
};

cudnnStatus_t get_workspace_size(cudnnHandle_t handle, const Plan& plan, ConvPass pass, int algorithm, size_t& bytes) {
  switch (pass) {
    case ConvPass::forward:
      return cudnnGetConvolutionForwardWorkspaceSize(handle, plan.x, plan.w, plan.convolution, plan.y,
                                                     static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), &bytes);
    case ConvPass::backward_input:
      return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, plan.w, plan.y, plan.convolution, plan.x,
                                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                                          &bytes);
    default:
      return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, plan.x, plan.y, plan.convolution, plan.w,
                                                            static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                                                            &bytes);
  }
}

/// Chooses the first algorithm of heuristic_algorithms() that cuDNN supports within the workspace limit. Chooses none
/// if there is no such algorithm, or if heuristic_algorithms() returns none. @throws CudaError if no algorithm was
/// found and a query failed
void choose_algorithm(cudnnHandle_t handle, Plan& plan, const Problem& p, const ConvCall& call) {
  cudnnStatus_t failed = CUDNN_STATUS_SUCCESS;
  for (int algorithm : heuristic_algorithms(p)) {
    size_t bytes = 0;
    const cudnnStatus_t status = get_workspace_size(handle, plan, p.pass, algorithm, bytes);
    if (status != CUDNN_STATUS_SUCCESS) {
      if (!is_unsupported(status)) failed = status;
      continue;
    }
    if (bytes > kWorkspaceLimit) continue;
    plan.algorithm = algorithm;
    plan.workspace_bytes = bytes;
    return;
  }
  check_status(failed, call);
}

Tensor allocate_workspace(size_t bytes, Device device) {
  return bytes == 0 ? Tensor() : core::empty({static_cast<int64_t>(bytes)}, kUInt8, device);
}
void* data_or_null(const Tensor& t) { return t.defined() ? t.raw_data() : nullptr; }

/// Chooses the fastest of all algorithms of cuDNN by running each once. The runs write to the output tensor of the
/// call, which the call overwrites afterwards. Falls back to choose_algorithm() if there is no memory for the workspace
/// or no algorithm is found.
void benchmark_algorithms(cudnnHandle_t handle, Plan& plan, const Problem& p, const ConvCall& call) {
  // Maximum number of results. There may be two results for an algorithm, with and without TF32.
  constexpr int kMaxResults = 16;
  Tensor space;
  try {
    space = allocate_workspace(kWorkspaceLimit, call.x.device());
  } catch (const OutOfMemoryError&) {
    return choose_algorithm(handle, plan, p, call);
  }
  const auto use_first = [&](cudnnStatus_t status, int count, const auto* results) {
    if (is_unsupported(status)) return;
    check_status(status, call);
    for (int i = 0; i < count; ++i) {  // fastest first
      if (results[i].status != CUDNN_STATUS_SUCCESS) continue;
      if (math_type(p) == CUDNN_FMA_MATH && results[i].mathType != CUDNN_FMA_MATH) continue;  // it would round to TF32
      plan.algorithm = results[i].algo;
      plan.workspace_bytes = results[i].memory;
      check_status(cudnnSetConvolutionMathType(plan.convolution, results[i].mathType), call);
      return;
    }
  };
  void *const x = call.x.raw_data(), *const w = call.w.raw_data(), *const y = call.y.raw_data();
  int count = 0;
  if (p.pass == ConvPass::forward) {
    cudnnConvolutionFwdAlgoPerf_t results[kMaxResults];
    const cudnnStatus_t status =
        cudnnFindConvolutionForwardAlgorithmEx(handle, plan.x, x, plan.w, w, plan.convolution, plan.y, y, kMaxResults,
                                               &count, results, space.raw_data(), kWorkspaceLimit);
    use_first(status, count, results);
  } else if (p.pass == ConvPass::backward_input) {
    cudnnConvolutionBwdDataAlgoPerf_t results[kMaxResults];
    const cudnnStatus_t status =
        cudnnFindConvolutionBackwardDataAlgorithmEx(handle, plan.w, w, plan.y, y, plan.convolution, plan.x, x,
                                                    kMaxResults, &count, results, space.raw_data(), kWorkspaceLimit);
    use_first(status, count, results);
  } else {
    cudnnConvolutionBwdFilterAlgoPerf_t results[kMaxResults];
    const cudnnStatus_t status =
        cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, plan.x, x, plan.y, y, plan.convolution, plan.w, w,
                                                      kMaxResults, &count, results, space.raw_data(), kWorkspaceLimit);
    use_first(status, count, results);
  }
  if (!plan.algorithm) choose_algorithm(handle, plan, p, call);
}

cudnnStatus_t run_convolution(cudnnHandle_t handle, const Plan& plan, const ConvCall& call) {
  const float one32 = 1, zero32 = 0;
  const double one64 = 1, zero64 = 0;
  const bool wide = call.x.dtype() == kFloat64;
  const void *const one = wide ? static_cast<const void*>(&one64) : &one32, *const zero =
                                                                                wide ? static_cast<const void*>(&zero64)
                                                                                     : &zero32;
  const Tensor workspace = allocate_workspace(plan.workspace_bytes, call.x.device());  // released in stream order
  void* const space = data_or_null(workspace);
  void *const x = call.x.raw_data(), *const w = call.w.raw_data(), *const y = call.y.raw_data();
  switch (call.pass) {
    case ConvPass::forward:
      return cudnnConvolutionForward(handle, one, plan.x, x, plan.w, w, plan.convolution,
                                     static_cast<cudnnConvolutionFwdAlgo_t>(*plan.algorithm), space,
                                     plan.workspace_bytes, zero, plan.y, y);
    case ConvPass::backward_input:
      return cudnnConvolutionBackwardData(handle, one, plan.w, w, plan.y, y, plan.convolution,
                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(*plan.algorithm), space,
                                          plan.workspace_bytes, zero, plan.x, x);
    default:
      return cudnnConvolutionBackwardFilter(handle, one, plan.x, x, plan.y, y, plan.convolution,
                                            static_cast<cudnnConvolutionBwdFilterAlgo_t>(*plan.algorithm), space,
                                            plan.workspace_bytes, zero, plan.w, w);
  }
}
void add_bias(cudnnHandle_t handle, const Plan& plan, const ConvCall& call) {
  const float one32 = 1;
  const double one64 = 1;
  const void* const one = call.x.dtype() == kFloat64 ? static_cast<const void*>(&one64) : &one32;
  check_status(cudnnAddTensor(handle, one, plan.bias, call.bias.raw_data(), one, plan.y, call.y.raw_data()), call);
}

/// Returns the sizes of t as int, the type that cuDNN takes; nullopt if t is empty or has too many elements.
std::optional<std::array<int, 4>> sizes_of(const Tensor& t) {
  if (t.numel() == 0 || t.numel() > INT_MAX) return {};
  std::array<int, 4> sizes;
  for (int i = 0; i < 4; ++i) sizes[static_cast<size_t>(i)] = static_cast<int>(t.size(i));
  return sizes;
}

}  // namespace

bool cudnn_convolution(const ConvCall& call) {
  const auto x = sizes_of(call.x), w = sizes_of(call.w), y = sizes_of(call.y);
  if (!x || !w || !y || !is_floating_point(call.x.dtype())) return false;
  if (call.w.dtype() != call.x.dtype() || call.y.dtype() != call.x.dtype()) return false;
  const ThreadContext& rank = ThreadContext::current();
  const Device device = call.x.device();
  const Problem problem{call.pass, call.x.dtype(), rank.float32_precision, rank.deterministic_algorithms, *x, *w,
                        *y,        call.shape};
  const gpu::DeviceGuard guard(device.index());
  Context& context = HandlePool<Context>::for_this_thread(device);
  const gpu::StreamHandle stream = tandem::cuda::current_stream(device).handle();
  check_status(cudnnSetStream(context.handle, reinterpret_cast<cudaStream_t>(stream)), call);
  auto at = context.plans.find(problem);
  if (at == context.plans.end()) {
    if (context.plans.size() >= 4096) context.plans.clear();  // limits the memory of plans if shapes rarely repeat
    at = context.plans.try_emplace(problem, problem, call).first;
  }
  Plan& plan = at->second;
  if (!plan.has_searched) {
    // During stream capture, nothing can be timed, so the heuristic chooses the algorithm.
    if (problem.deterministic || tandem::cuda::is_current_stream_capturing())
      choose_algorithm(context.handle, plan, problem, call);
    else
      benchmark_algorithms(context.handle, plan, problem, call);
    plan.has_searched = true;
  }
  if (!plan.algorithm) return false;
  const cudnnStatus_t status = run_convolution(context.handle, plan, call);
  if (is_unsupported(status)) {
    plan.algorithm.reset();
    return false;
  }
  check_status(status, call);
  if (call.bias.defined()) add_bias(context.handle, plan, call);
  return true;
}

}  // namespace tandem::kernels::cuda

#else

namespace tandem::kernels::cuda {

bool cudnn_convolution(const ConvCall&) { return false; }

}  // namespace tandem::kernels::cuda
#endif
