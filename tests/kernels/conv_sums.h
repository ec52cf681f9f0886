// Convolutions as the sums that define them, written down as loops, in double: what the CPU's and the GPU's are held
// against.
#pragma once
#include <cmath>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/kernels/convolution.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/elements.h"

namespace tandem::test {

struct ConvCase {
  int64_t images, channels, height, width, filters, kernel[2];
  kernels::ConvShape shape;
  int64_t out(int i) const {
    const int64_t size = i == 0 ? height : width, reach = shape.dilation[i] * (kernel[i] - 1) + 1;
    return (size + 2 * shape.padding[i] - reach) / shape.stride[i] + 1;
  }
  int64_t per_group() const { return channels / shape.groups; }
  int64_t places() const { return kernel[0] * kernel[1]; }
  Shape x_sizes() const { return {images, channels, height, width}; }
  Shape w_sizes() const { return {filters, per_group(), kernel[0], kernel[1]}; }
  Shape y_sizes() const { return {images, filters, out(0), out(1)}; }
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

/// Requires of a convolution's result and its gradients that they are the sums over x, w and dy.
inline void require_sums(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& dy,
                         const Tensor& got_y, const Tensor& got_dx, const Tensor& got_dw, double units = 5) {
  Wanted y(dy), dx(x), dw(w);
  for (int64_t i = 0; bias.defined() && i < dy.numel(); ++i) y.add(i, at(bias, i / (c.out(0) * c.out(1)) % c.filters));
  for_products(c, [&](int64_t i, int64_t k, int64_t o) {
    y.add(o, at(x, i) * at(w, k));
    dx.add(i, at(dy, o) * at(w, k));
    dw.add(k, at(dy, o) * at(x, i));
  });
  // Every addition rounds a sum that grows like the square root of the number of terms.
  REQUIRE(y.worst(got_y) <= units);
  REQUIRE(dx.worst(got_dx) <= units);
  REQUIRE(dw.worst(got_dw) <= units);
}

}  // namespace tandem::test
