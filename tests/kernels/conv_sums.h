// Computes convolutions and their gradients with plain loops in double, as the reference for the CPU and GPU kernels.
#pragma once
#include <algorithm>
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

/// Calls f(index in x, index in w, index in y) for every product of the convolution.
template <class F> void for_products(const ConvCase& c, F f) {
  const kernels::ConvShape& s = c.shape;
  const int64_t out_height = c.out(0), out_width = c.out(1), per_group = c.per_group();
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t o = 0; o < c.filters; ++o)
      for (int64_t channel = 0; channel < per_group; ++channel)
        for (int64_t kh = 0; kh < c.kernel[0]; ++kh)
          for (int64_t kw = 0; kw < c.kernel[1]; ++kw) {
            const int64_t plane = n * c.channels + o / (c.filters / s.groups) * per_group + channel;
            const int64_t weight = ((o * per_group + channel) * c.kernel[0] + kh) * c.kernel[1] + kw;
            for (int64_t i = 0; i < out_height; ++i) {
              const int64_t h = i * s.stride[0] - s.padding[0] + kh * s.dilation[0];
              if (h < 0 || h >= c.height) continue;
              for (int64_t j = 0; j < out_width; ++j) {
                const int64_t w = j * s.stride[1] - s.padding[1] + kw * s.dilation[1];
                if (w < 0 || w >= c.width) continue;
                f((plane * c.height + h) * c.width + w, weight, ((n * c.filters + o) * out_height + i) * out_width + j);
              }
            }
          }
}

/// Expected elements of a tensor (`value`), and for each element the sum of the absolute values of its terms (`size`).
struct ExpectedTensor {
  std::vector<double> value, size;
  explicit ExpectedTensor(const Tensor& t) : value(static_cast<size_t>(t.numel())), size(value) {}
  void add(int64_t i, double product) {
    value[static_cast<size_t>(i)] += product, size[static_cast<size_t>(i)] += std::abs(product);
  }
  /// Returns the largest error, in units of rounding of the element's `size`. If `transformed`, the errors are relative
  /// to
  /// the largest `size` instead, because a transform also adds up neighbouring elements.
  double largest_error(const Tensor& got, bool transformed) const {
    const double unit = unit_of(got.dtype()), largest = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
    double largest_error = 0;
    for (int64_t i = 0; i < got.numel(); ++i) {
      const auto n = static_cast<size_t>(i);
      const double error = std::abs(at(got, i) - value[n]), of = unit * (transformed ? largest : size[n]);
      if (!(error == 0)) largest_error = std::max(largest_error, std::isnan(error) ? HUGE_VAL : error / of);
    }
    return largest_error;
  }
};

/// Requires that a convolution's output and gradients equal the sums over x, w and dy that define them.
inline void require_sums(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& dy,
                         const Tensor& got_y, const Tensor& got_dx, const Tensor& got_dw, bool transformed = false) {
  ExpectedTensor y(dy), dx(x), dw(w);
  for (int64_t i = 0; bias.defined() && i < dy.numel(); ++i) y.add(i, at(bias, i / (c.out(0) * c.out(1)) % c.filters));
  // Uses plain pointers, because these are millions of products in a program compiled without optimization.
  const Tensor x64 = x.to(kFloat64), w64 = w.to(kFloat64), dy64 = dy.to(kFloat64);
  const double *const xs = x64.data<double>(), *const ws = w64.data<double>(), *const dys = dy64.data<double>();
  double *const y_value = y.value.data(), *const y_size = y.size.data();
  double *const dx_value = dx.value.data(), *const dx_size = dx.size.data();
  double *const dw_value = dw.value.data(), *const dw_size = dw.size.data();
  for_products(c, [=](int64_t i, int64_t k, int64_t o) {
    const double xw = xs[i] * ws[k], dyw = dys[o] * ws[k], dyx = dys[o] * xs[i];
    y_value[o] += xw, dx_value[i] += dyw, dw_value[k] += dyx;
    y_size[o] += xw < 0 ? -xw : xw, dx_size[i] += dyw < 0 ? -dyw : dyw, dw_size[k] += dyx < 0 ? -dyx : dyx;
  });
  // Every addition rounds a partial sum, and the error grows like the square root of the number of terms. The largest
  // error
  // of 37,000 sums of 288 products, added one after another, was 5.3 units. Transforms multiply by numbers that cancel
  // later, so their errors are larger: 2139 units were measured for a weight gradient (cuDNN on an H200).
  const double units = transformed ? 5000 : 6;
  REQUIRE(y.largest_error(got_y, transformed) <= units);
  REQUIRE(dx.largest_error(got_dx, transformed) <= units);
  REQUIRE(dw.largest_error(got_dw, transformed) <= units);
}

}  // namespace tandem::test
