// Tests convolutions on the GPU (Tandem's own kernels and cuDNN's) against the sums that define them.
#include "tandem/kernels/convolution.h"
#include "tandem/tests/kernels/conv_sums.h"
#include "tandem/tests/kernels/cuda_tensors.h"

using namespace tandem;
using namespace tandem::test;
namespace {

// images, C, H, W, O, kernel, stride, padding, dilation, groups
const ConvCase kConvs[] = {
    {1, 3, 7, 9, 5, {3, 2}, {{2, 3}, {1, 2}, {1, 1}, 1}},    // odd sizes, nothing square
    {3, 4, 6, 8, 6, {3, 3}, {{1, 2}, {2, 0}, {2, 1}, 1}},    // dilation in height only
    {2, 6, 9, 9, 8, {2, 3}, {{2, 1}, {0, 3}, {3, 2}, 2}},    // two groups, padding as wide as the kernel
    {2, 8, 6, 5, 16, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 8}},   // depthwise: one thread per result
    {3, 5, 6, 6, 3, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},    // 1 x 1: a matrix product
    {2, 5, 7, 6, 3, {1, 1}, {{2, 2}, {1, 1}, {1, 1}, 1}},    // 1 x 1, but strided and padded: not a matrix product
    {3, 4, 5, 5, 4, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 4}},    // one output pixel
    {5, 1, 9, 9, 1, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},    // one channel, one filter
    {2, 17, 8, 7, 33, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // partial tiles; the sum over k is split
    {2, 34, 6, 6, 40, {1, 2}, {{1, 1}, {0, 1}, {1, 1}, 1}},  // wider tiles
    {1, 2, 20, 21, 3, {3, 3}, {{3, 3}, {1, 1}, {1, 1}, 1}},  // a stride that skips pixels
    {0, 3, 8, 8, 4, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
    {2, 0, 4, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // no channels: only the bias
};

struct Result {
  Tensor y, dx, dw;
};
Result run(bool own, const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& dy) {
  const auto laid_out = [&](const Tensor& t) {
    return t.contiguous(c.shape.channels_last ? kChannelsLast : kContiguous);
  };
  const auto garbage = [&](const Tensor& like) {
    return laid_out(to_gpu(full(like.sizes(), std::nan(""), like.dtype())));
  };
  Tensor y = garbage(dy), dx = garbage(x), dw = garbage(w);
  const Tensor gpu_x = laid_out(to_gpu(x)), gpu_w = laid_out(to_gpu(w)), gpu_dy = laid_out(to_gpu(dy));
  const Tensor gpu_bias = bias.defined() ? to_gpu(bias) : bias;
  namespace there = kernels::cuda;
  using kernels::ConvPass;
  if (own) {
    const auto& last = there::conv_implementations().back();
    REQUIRE(last.name == std::string("own kernels"));
    REQUIRE(last.run({ConvPass::forward, gpu_x, gpu_w, gpu_bias, y, c.shape}));
    REQUIRE(last.run({ConvPass::backward_input, dx, gpu_w, Tensor(), gpu_dy, c.shape}));
    REQUIRE(last.run({ConvPass::backward_weight, gpu_x, dw, Tensor(), gpu_dy, c.shape}));
  } else {
    there::conv2d(gpu_x, gpu_w, gpu_bias, c.shape, y);
    there::conv2d_backward_input(gpu_dy, gpu_w, c.shape, dx);
    there::conv2d_backward_weight(gpu_dy, gpu_x, c.shape, dw);
  }
  return {to_cpu(y.contiguous()), to_cpu(dx.contiguous()), to_cpu(dw.contiguous())};
}

}  // namespace

TEST_CASE("a convolution on the GPU and its two gradients are the sums that define them", "[cuda][convolution]") {
  TANDEM_NEEDS_GPU();
  manual_seed(7);
  std::vector<ConvCase> cases(std::begin(kConvs), std::end(kConvs));
  for (ConvCase c : kConvs) {
    c.shape.channels_last = true;
    cases.push_back(c);
  }
  for (const ConvCase& c : cases)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      const bool with_bias = dtype != kFloat64 || c.channels == 0;
      CAPTURE(&c - cases.data(), dtype);
      const Tensor x = randn(c.x_sizes(), dtype), w = randn(c.w_sizes(), dtype),
                   bias = with_bias ? randn({c.filters}, dtype) : Tensor(), dy = randn(c.y_sizes(), dtype);
      for_each_server([&](bool own) {
        const Result got = run(own, c, x, w, bias, dy), again = run(own, c, x, w, bias, dy);
        // Algorithms that the cuDNN search selects may use transforms and atomic additions, so their bits may vary.
        const bool sums = are_deterministic_algorithms_enabled();
        require_sums(c, x, w, bias, dy, got.y, got.dx, got.dw, !sums);
        if (!sums) return;
        REQUIRE(same_bits(got.y, again.y));
        REQUIRE(same_bits(got.dx, again.dx));
        REQUIRE(same_bits(got.dw, again.dw));
      });
    }
}
