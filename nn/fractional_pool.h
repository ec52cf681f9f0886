// Max pools with windows at random places, of two and three dimensions.
#pragma once
#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/nn/module.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

/// Shares of the input's sizes, one for each dimension or one for all.
template <size_t N> struct OutputRatios : std::array<double, N> {
  OutputRatios(double all) { this->fill(all); }
  OutputRatios(const std::vector<double>& list) {
    TANDEM_CHECK(list.size() == N, "expected one output ratio or ", N, ", got ", list.size());
    std::copy(list.begin(), list.end(), this->begin());
  }
  OutputRatios(std::initializer_list<double> list) : OutputRatios(std::vector<double>(list)) {}
};
/// Either output_size or output_ratio is given. _random_samples (N, C, D), in [0, 1), are drawn in each forward unless
/// they are given.
template <size_t N, class Size> struct FractionalMaxPoolOptions {
  FractionalMaxPoolOptions(Size kernel_size) : kernel_size_(kernel_size) {}
  FractionalMaxPoolOptions(int64_t kernel_size) : FractionalMaxPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);                             // the size of a window
  TANDEM_ARG(std::optional<Size>, output_size);              // the sizes of the output
  TANDEM_ARG(std::optional<OutputRatios<N>>, output_ratio);  // the output's sizes as fractions of the input's
  TANDEM_ARG(Tensor, _random_samples);  // numbers in [0, 1) that place the windows; drawn unless given
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2, detail::Pair>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3, detail::Triple>;

namespace functional {
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
/// (values, indices) as tandem::fractional_max_pool2d and 3d give them.
/// @throws Error unless one of output_size and output_ratio is given, ratios between 0 and 1
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& x, const FractionalMaxPool2dOptions& o);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& x, const FractionalMaxPool3dOptions& o);
/// The values that these give, without the indices.
inline Tensor fractional_max_pool2d(const Tensor& x, const FractionalMaxPool2dOptions& o) {
  return std::get<0>(fractional_max_pool2d_with_indices(x, o));
}
inline Tensor fractional_max_pool3d(const Tensor& x, const FractionalMaxPool3dOptions& o) {
  return std::get<0>(fractional_max_pool3d_with_indices(x, o));
}
}  // namespace functional

/// x (N, C, H, W) or (C, H, W)
class FractionalMaxPool2dImpl : public Cloneable<FractionalMaxPool2dImpl> {
 public:
  explicit FractionalMaxPool2dImpl(const FractionalMaxPool2dOptions& o) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// The values, or (values, indices).
  /// The largest element of each window.
  Tensor forward(const Tensor& x) { return std::get<0>(forward_with_indices(x)); }
  /// (values, indices): the indices as max_unpool2d takes them.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x);
  FractionalMaxPool2dOptions options;
  Tensor _random_samples;  // undefined unless given
};
TANDEM_LIBRARY_MODULE(FractionalMaxPool2d);
/// x (N, C, D, H, W) or (C, D, H, W)
class FractionalMaxPool3dImpl : public Cloneable<FractionalMaxPool3dImpl> {
 public:
  explicit FractionalMaxPool3dImpl(const FractionalMaxPool3dOptions& o) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// The largest element of each window.
  Tensor forward(const Tensor& x) { return std::get<0>(forward_with_indices(x)); }
  /// (values, indices): the indices as max_unpool3d takes them.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x);
  FractionalMaxPool3dOptions options;
  Tensor _random_samples;  // undefined unless given
};
TANDEM_LIBRARY_MODULE(FractionalMaxPool3d);

}  // namespace tandem::nn
