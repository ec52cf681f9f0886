// Our own convolutions on the GPU against the sum that defines them, in double.
#include <vector>

#include "tandem/kernels/cuda/own.h"
#include "tandem/tests/kernels/cuda_tensors.h"

using namespace tandem;
using namespace tandem::test;
namespace {

struct ConvCase {
  int64_t images, channels, height, width, filters, kernel[2];
  kernels::ConvShape shape;
  int64_t out(int i) const {
    const int64_t size = i == 0 ? height : width, reach = shape.dilation[i] * (kernel[i] - 1) + 1;
    return (size + 2 * shape.padding[i] - reach) / shape.stride[i] + 1;
  }
  int64_t per_group() const { return channels / shape.groups; }
  int64_t places() const { return kernel[0] * kernel[1]; }
};

// images, C, H, W, O, kernel, stride, padding, dilation, groups
const ConvCase kConvs[] = {
    {1, 3, 7, 9, 5, {3, 2}, {{2, 3}, {1, 2}, {1, 1}, 1}},    // odd sizes, nothing square
    {3, 4, 6, 8, 6, {3, 3}, {{1, 2}, {2, 0}, {2, 1}, 1}},    // dilation by rows alone
    {2, 6, 9, 9, 8, {2, 3}, {{2, 1}, {0, 3}, {3, 2}, 2}},    // two groups, padding as wide as the kernel
    {2, 8, 6, 5, 16, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 8}},   // a group for each channel: a thread for each result
    {3, 5, 6, 6, 3, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},    // 1 x 1: a matrix product
    {2, 5, 7, 6, 3, {1, 1}, {{2, 2}, {1, 1}, {1, 1}, 1}},    // 1 x 1 that is none
    {3, 4, 5, 5, 4, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 4}},    // one output pixel
    {5, 1, 9, 9, 1, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},    // one channel, one filter
    {2, 17, 8, 7, 33, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // tiles that are not full; k in parts
    {2, 34, 6, 6, 40, {1, 2}, {{1, 1}, {0, 1}, {1, 1}, 1}},  // wider tiles
    {1, 2, 20, 21, 3, {3, 3}, {{3, 3}, {1, 1}, {1, 1}, 1}},  // a stride that leaves pixels out
    {0, 3, 8, 8, 4, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
    {2, 0, 4, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // no channels: the bias alone
};

/// Calls f(index in x, in w, in y) for every product of the convolution.
template <class F> void for_products(const ConvCase& c, F f) {
  const kernels::ConvShape& s = c.shape;
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t o = 0; o < c.filters; ++o)
      for (int64_t i = 0; i < c.out(0) * c.out(1); ++i)
        for (int64_t k = 0; k < c.per_group() * c.places(); ++k) {
          const int64_t kw = k % c.kernel[1], kh = k / c.kernel[1] % c.kernel[0], channel = k / c.places();
          const int64_t h = i / c.out(1) * s.stride[0] - s.padding[0] + kh * s.dilation[0];
          const int64_t w = i % c.out(1) * s.stride[1] - s.padding[1] + kw * s.dilation[1];
          if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
          const int64_t from = o / (c.filters / s.groups) * c.per_group() + channel;
          f(((n * c.channels + from) * c.height + h) * c.width + w, o * c.per_group() * c.places() + k,
            (n * c.filters + o) * c.out(0) * c.out(1) + i);
        }
}

/// What one tensor should hold, and for each element the sum of what was added up without signs.
struct Wanted {
  std::vector<double> value, size;
  explicit Wanted(const Tensor& t) : value(static_cast<size_t>(t.numel())), size(value) {}
  void add(int64_t i, double product) {
    value[static_cast<size_t>(i)] += product, size[static_cast<size_t>(i)] += std::abs(product);
  }
  /// The largest error, in units of rounding of that sum.
  double worst(const Tensor& got) const {
    const double unit = got.dtype() == kFloat32 ? 6e-8 : 1.2e-16;
    double worst = 0;
    for (int64_t i = 0; i < got.numel(); ++i) {
      const auto n = static_cast<size_t>(i);
      const double error = std::abs(at(got, i) - value[n]);
      if (!(error == 0)) worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error / (unit * size[n]));
    }
    return worst;
  }
};

struct Result {
  Tensor y, dx, dw;
};
Result run(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& dy) {
  const auto garbage = [](const Tensor& like) { return to_gpu(full(like.sizes(), std::nan(""), like.dtype())); };
  Tensor y = garbage(dy), dx = garbage(x), dw = garbage(w);
  const Tensor gpu_x = to_gpu(x), gpu_w = to_gpu(w), gpu_dy = to_gpu(dy);
  kernels::cuda::own_conv2d(gpu_x, gpu_w, bias.defined() ? to_gpu(bias) : bias, c.shape, y);
  kernels::cuda::own_conv2d_backward_input(gpu_dy, gpu_w, c.shape, dx);
  kernels::cuda::own_conv2d_backward_weight(gpu_dy, gpu_x, c.shape, dw);
  return {to_cpu(y), to_cpu(dx), to_cpu(dw)};
}

}  // namespace

TEST_CASE("a convolution on the GPU and its two gradients are the sums that define them", "[cuda][convolution]") {
  TANDEM_NEEDS_GPU();
  manual_seed(7);
  for (const ConvCase& c : kConvs)
    for (const DType dtype : {kFloat32, kFloat64}) {
      const bool with_bias = dtype == kFloat32 || c.channels == 0;
      CAPTURE(&c - kConvs, dtype);
      const Tensor x = randn({c.images, c.channels, c.height, c.width}, dtype),
                   w = randn({c.filters, c.per_group(), c.kernel[0], c.kernel[1]}, dtype),
                   bias = with_bias ? randn({c.filters}, dtype) : Tensor(),
                   dy = randn({c.images, c.filters, c.out(0), c.out(1)}, dtype);
      const Result got = run(c, x, w, bias, dy), again = run(c, x, w, bias, dy);
      Wanted y(dy), dx(x), dw(w);
      for (int64_t i = 0; with_bias && i < dy.numel(); ++i) y.add(i, at(bias, i / (c.out(0) * c.out(1)) % c.filters));
      for_products(c, [&](int64_t i, int64_t k, int64_t o) {
        y.add(o, at(x, i) * at(w, k));
        dx.add(i, at(dy, o) * at(w, k));
        dw.add(k, at(dy, o) * at(x, i));
      });
      // Every addition rounds a sum that grows like the square root of the number of terms.
      REQUIRE(y.worst(got.y) <= 5);
      REQUIRE(dx.worst(got.dx) <= 5);
      REQUIRE(dw.worst(got.dw) <= 5);
      REQUIRE(same_bits(got.y, again.y));
      REQUIRE(same_bits(got.dx, again.dx));
      REQUIRE(same_bits(got.dw, again.dw));
    }
}
