// Convolutions against the sum that defines them, written down as seven loops, in double.
#include <functional>
#include <utility>

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/convolution.h"
#include "tandem/kernels/cpu/convolution.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/elements.h"

using namespace tandem;
using test::at;
using test::same_bits;
namespace {

struct Case {
  int64_t images, channels, height, width, out_channels, kernel[2];
  kernels::ConvShape shape;
  int64_t out(int i) const {
    const int64_t size = i == 0 ? height : width, reach = shape.dilation[i] * (kernel[i] - 1) + 1;
    return (size + 2 * shape.padding[i] - reach) / shape.stride[i] + 1;
  }
  int64_t per_group() const { return channels / shape.groups; }
};

// images, C, H, W, O, kernel, stride, padding, dilation, groups
const Case kCases[] = {
    {2, 1, 28, 28, 32, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},   // FashionCNN's first
    {4, 32, 14, 14, 64, {3, 3}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // and second
    {3, 10, 12, 12, 20, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // LeNet's second: channels that fill no block
    {1, 3, 7, 9, 5, {3, 2}, {{2, 3}, {1, 2}, {1, 1}, 1}},      // one image, odd sizes, nothing square
    {5, 4, 11, 8, 6, {3, 3}, {{1, 2}, {2, 0}, {2, 1}, 1}},     // dilation by rows alone
    {3, 6, 9, 9, 4, {2, 3}, {{2, 1}, {0, 3}, {3, 2}, 2}},      // two groups, padding as wide as the kernel
    {2, 8, 6, 5, 16, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 8}},     // a group for each channel
    {7, 5, 6, 6, 3, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},      // 1 x 1: a matrix product
    {2, 5, 7, 6, 3, {1, 1}, {{2, 2}, {1, 1}, {1, 1}, 1}},      // 1 x 1 that is none
    {3, 4, 5, 5, 4, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 4}},      // one output pixel
    {67, 2, 5, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},     // a prime number of images
    {0, 3, 8, 8, 4, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
    {2, 0, 4, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // no channels: the bias alone
};

/// Calls f(index in x, in w, in y) for every product of the convolution.
template <class F> void for_products(const Case& c, F f) {
  const kernels::ConvShape& s = c.shape;
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t o = 0; o < c.out_channels; ++o)
      for (int64_t i = 0; i < c.out(0) * c.out(1); ++i)
        for (int64_t k = 0; k < c.per_group() * c.kernel[0] * c.kernel[1]; ++k) {
          const int64_t kw = k % c.kernel[1], kh = k / c.kernel[1] % c.kernel[0],
                        channel = k / c.kernel[1] / c.kernel[0];
          const int64_t h = i / c.out(1) * s.stride[0] - s.padding[0] + kh * s.dilation[0];
          const int64_t w = i % c.out(1) * s.stride[1] - s.padding[1] + kw * s.dilation[1];
          if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
          const int64_t from = o / (c.out_channels / s.groups) * c.per_group() + channel;
          f(((n * c.channels + from) * c.height + h) * c.width + w, o * c.per_group() * c.kernel[0] * c.kernel[1] + k,
            (n * c.out_channels + o) * c.out(0) * c.out(1) + i);
        }
}

struct Tensors {
  Tensor x, w, bias, y, dy, dx, dw;
  Tensors(const Case& c, DType dtype) {
    manual_seed(7);
    const Shape xs{c.images, c.channels, c.height, c.width},
        ws{c.out_channels, c.per_group(), c.kernel[0], c.kernel[1]}, ys{c.images, c.out_channels, c.out(0), c.out(1)};
    x = randn(xs, dtype), w = randn(ws, dtype), bias = randn({c.out_channels}, dtype), dy = randn(ys, dtype);
    y = full(ys, 99, dtype), dx = full(xs, 99, dtype), dw = full(ws, 99, dtype);
  }
  void run(const Case& c, bool with_bias) {
    kernels::cpu::conv2d(x, w, with_bias ? bias : Tensor(), c.shape, y);
    kernels::cpu::conv2d_backward_input(dy, w, c.shape, dx);
    kernels::cpu::conv2d_backward_weight(dy, x, c.shape, dw);
  }
};

/// Rounding of a sum of n products of normal numbers grows with sqrt(n); 8 covers the largest of all elements.
void require_close(const Tensor& got, const std::vector<double>& want, const std::vector<int64_t>& terms) {
  const double unit = got.dtype() == kFloat32 ? 6e-8 : 1.2e-16;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const auto n = static_cast<size_t>(i);
    const double bound = 8 * unit * (static_cast<double>(terms[n]) + 4);
    if (!(std::abs(at(got, i) - want[n]) <= bound)) FAIL(i << ": " << at(got, i) << " is not " << want[n]);
  }
}

void check(const Case& c, const Tensors& t, bool with_bias) {
  const auto size = [](const Tensor& x) { return static_cast<size_t>(x.numel()); };
  std::vector<double> y(size(t.y)), dx(size(t.dx)), dw(size(t.dw));
  std::vector<int64_t> y_terms(y.size()), dx_terms(dx.size()), dw_terms(dw.size());
  if (with_bias)
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = at(t.bias, static_cast<int64_t>(i) / (c.out(0) * c.out(1)) % c.out_channels);
  for_products(c, [&](int64_t i, int64_t k, int64_t o) {
    const auto xi = static_cast<size_t>(i), wi = static_cast<size_t>(k), yi = static_cast<size_t>(o);
    y[yi] += at(t.x, i) * at(t.w, k), ++y_terms[yi];
    dx[xi] += at(t.dy, o) * at(t.w, k), ++dx_terms[xi];
    dw[wi] += at(t.dy, o) * at(t.x, i), ++dw_terms[wi];
  });
  require_close(t.y, y, y_terms);
  require_close(t.dx, dx, dx_terms);
  require_close(t.dw, dw, dw_terms);
}

}  // namespace

TEST_CASE("a convolution and its two gradients are the sums that define them", "[convolution]") {
  for (const Case& c : kCases)
    for (const DType dtype : {kFloat32, kFloat64})
      for (const bool with_bias : {true, false}) {
        if (TANDEM_TEST_SANITIZED && with_bias != (dtype == kFloat32)) continue;  // each of them once is enough
        CAPTURE(&c - kCases, with_bias, static_cast<int>(dtype));
        Tensors t(c, dtype);
        t.run(c, with_bias);
        check(c, t, with_bias);
      }
}

TEST_CASE("our own convolution agrees where a library does the work", "[convolution]") {
  for (const Case& c : kCases) {
    if (c.images * c.channels == 0) continue;
    CAPTURE(&c - kCases);
    Tensors t(c, kFloat32);
    const auto problem = [&](kernels::cpu::ConvPass pass) {
      return kernels::cpu::ConvProblem{pass,
                                       c.images,
                                       c.channels,
                                       {c.height, c.width},
                                       c.out_channels,
                                       {c.out(0), c.out(1)},
                                       {c.kernel[0], c.kernel[1]},
                                       c.shape,
                                       pass == kernels::cpu::ConvPass::forward};
    };
    const auto run = [&](kernels::cpu::ConvPass pass, const Tensor& x, const Tensor& w, const Tensor& y) {
      const auto block = kernels::cpu::im2col_block<float>(problem(pass));
      const Tensor scratch = empty({block->scratch_bytes()}, kUInt8);
      const float* const bias = pass == kernels::cpu::ConvPass::forward ? t.bias.data<float>() : nullptr;
      block->run(x.data<float>(), w.data<float>(), bias, y.data<float>(), scratch.data<char>());
    };
    run(kernels::cpu::ConvPass::forward, t.x, t.w, t.y);
    run(kernels::cpu::ConvPass::backward_input, t.dx, t.w, t.dy);
    run(kernels::cpu::ConvPass::backward_weight, t.x, t.dw, t.dy);
    check(c, t, true);
  }
}

TEST_CASE("a convolution gives the same bits with 1, 2 and 3 threads", "[convolution]") {
  const int before = get_num_threads();
  for (const Case& c : kCases)
    for (const DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(&c - kCases);
      set_num_threads(1);
      Tensors alone(c, dtype);
      alone.run(c, true);
      for (const int threads : {2, 3}) {
        set_num_threads(threads);
        Tensors t(c, dtype);
        t.run(c, true);
        REQUIRE(same_bits(t.y, alone.y));
        REQUIRE(same_bits(t.dx, alone.dx));
        REQUIRE(same_bits(t.dw, alone.dw));
      }
    }
  set_num_threads(before);
}
