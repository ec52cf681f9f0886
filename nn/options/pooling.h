// Options of pools. Size: int64_t, or Pair or Triple, of which one number is a window of equal sides.
#pragma once
#include <algorithm>
#include <concepts>
#include <initializer_list>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem::nn {

/// stride: the kernel's size unless set.
template <class Size> struct MaxPoolOptions {
  MaxPoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  MaxPoolOptions(int64_t kernel_size) requires(!std::same_as<Size, int64_t>) : MaxPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);
  TANDEM_ARG(Size, stride);             // the step from window to window; the window's size unless given
  TANDEM_ARG(Size, padding) = 0;        // on each side, as -infinity; at most half the window
  TANDEM_ARG(Size, dilation) = 1;       // the step from element to element of a window
  TANDEM_ARG(bool, ceil_mode) = false;  // whether the last window may hang over the end
};
using MaxPool1dOptions = MaxPoolOptions<int64_t>;
using MaxPool2dOptions = MaxPoolOptions<detail::Pair>;
using MaxPool3dOptions = MaxPoolOptions<detail::Triple>;

/// stride: the kernel's size unless set. divisor_override stands in the place of the number of elements of a window.
template <class Size> struct AvgPoolOptions {
  AvgPoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  AvgPoolOptions(int64_t kernel_size) : AvgPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);               // the size of a window
  TANDEM_ARG(Size, stride);                    // the step from window to window; the window's size unless given
  TANDEM_ARG(Size, padding) = 0;               // zeros on each side
  TANDEM_ARG(bool, ceil_mode) = false;         // whether the last window may hang over the end
  TANDEM_ARG(bool, count_include_pad) = true;  // whether the padding counts in the divisor
  TANDEM_ARG(std::optional<int64_t>, divisor_override);  // the divisor, in place of the window's size
};
using AvgPool2dOptions = AvgPoolOptions<detail::Pair>;
using AvgPool3dOptions = AvgPoolOptions<detail::Triple>;
struct AvgPool1dOptions {
  /// The length of a window.
  AvgPool1dOptions(int64_t kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(int64_t, kernel_size);            // the size of a window
  TANDEM_ARG(int64_t, stride);                 // the kernel's size unless set
  TANDEM_ARG(int64_t, padding) = 0;            // zeros on each side
  TANDEM_ARG(bool, ceil_mode) = false;         // whether the last window may hang over the end
  TANDEM_ARG(bool, count_include_pad) = true;  // whether the padding counts in the divisor
};

/// Sizes of an output, one for each dimension or one for all; nullopt stands for the input's.
template <size_t N> struct OutputSizes : std::array<std::optional<int64_t>, N> {
  OutputSizes(int64_t all) { this->fill(all); }
  OutputSizes(std::initializer_list<std::optional<int64_t>> list) { take(list.begin(), list.size()); }
  OutputSizes(const std::vector<int64_t>& list) { take(list.begin(), list.size()); }
  OutputSizes(const std::vector<std::optional<int64_t>>& list) { take(list.begin(), list.size()); }
  OutputSizes(IntArrayRef list) { take(list.begin(), list.size()); }
  /// Returns the sizes, with the size of x in place of nullopt. @throws Error unless x has N dimensions after channels
  ExpandingArray<N> resolved(const char* op, const Tensor& x) const {
    TANDEM_CHECK(x.dim() == N + 1 || x.dim() == N + 2, op, ": x is ", x.sizes(), "; accepted: ", N,
                 " dimensions after the channels, with a batch or without");
    ExpandingArray<N> y(0);
    for (size_t d = 0; d < N; ++d) y[d] = (*this)[d].value_or(x.size(static_cast<int64_t>(d) - int64_t{N}));
    return y;
  }

 private:
  template <class Iterator> void take(Iterator from, size_t count) {
    TANDEM_CHECK(count == 1 || count == N, "expected one output size or ", N, ", got ", count);
    for (size_t d = 0; d < N; ++d) (*this)[d] = from[count == 1 ? 0 : static_cast<std::ptrdiff_t>(d)];
  }
};
/// Of adaptive pools, averages and maxima alike.
template <size_t N> struct AdaptivePoolOptions {
  AdaptivePoolOptions(OutputSizes<N> output_size) : output_size_(output_size) {}
  AdaptivePoolOptions(int64_t output_size) : output_size_(output_size) {}
  TANDEM_ARG(OutputSizes<N>, output_size);  // the sizes of the output; nullopt: the input's
};
template <> struct AdaptivePoolOptions<1> {
  AdaptivePoolOptions(int64_t output_size) : output_size_(output_size) {}
  TANDEM_ARG(int64_t, output_size);  // the sizes of the output; nullopt: the input's
};
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<3>;
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<3>;

/// Those of the max pool that is to be undone. stride: the kernel's size unless set.
template <class Size> struct MaxUnpoolOptions {
  MaxUnpoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  MaxUnpoolOptions(int64_t kernel_size) requires(!std::same_as<Size, int64_t>) : MaxUnpoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);
  TANDEM_ARG(Size, stride);       // that of the max pool; the window's size unless given
  TANDEM_ARG(Size, padding) = 0;  // that of the max pool
};
using MaxUnpool1dOptions = MaxUnpoolOptions<int64_t>;
using MaxUnpool2dOptions = MaxUnpoolOptions<detail::Pair>;
using MaxUnpool3dOptions = MaxUnpoolOptions<detail::Triple>;

/// stride: the kernel's size unless set.
template <class Size> struct LPPoolOptions {
  LPPoolOptions(double norm_type, Size kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);        // the power
  TANDEM_ARG(Size, kernel_size);        // the size of a window
  TANDEM_ARG(Size, stride);             // the step from window to window; the window's size unless given
  TANDEM_ARG(bool, ceil_mode) = false;  // whether the last window may hang over the end
};
using LPPool1dOptions = LPPoolOptions<int64_t>;
using LPPool2dOptions = LPPoolOptions<detail::Pair>;
using LPPool3dOptions = LPPoolOptions<detail::Triple>;

namespace functional {
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;
/// output_size: the spatial sizes, or all sizes, of what the max pool was given; it tells apart sizes that a pool
/// rounds to the same.
template <class Size> struct MaxUnpoolFuncOptions : MaxUnpoolOptions<Size> {
  using MaxUnpoolOptions<Size>::MaxUnpoolOptions;
  MaxUnpoolFuncOptions(const MaxUnpoolOptions<Size>& o) : MaxUnpoolOptions<Size>(o) {}
  /// As in the base, but so that a chain of setters ends with this type.
  MaxUnpoolFuncOptions& stride(const Size& value) { return MaxUnpoolOptions<Size>::stride(value), *this; }
  /// As in the base.
  MaxUnpoolFuncOptions& padding(const Size& value) { return MaxUnpoolOptions<Size>::padding(value), *this; }
  using MaxUnpoolOptions<Size>::stride;
  using MaxUnpoolOptions<Size>::padding;
  TANDEM_ARG(std::optional<std::vector<int64_t>>, output_size);  // the sizes that the max pool was given
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<int64_t>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<detail::Pair>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<detail::Triple>;
}  // namespace functional

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

}  // namespace tandem::nn

namespace tandem::detail {
/// output_ratio as numbers; empty if it is not given.
template <class Options> ArrayRef<double> ratios_of(const Options& o) {
  return o.output_ratio() ? ArrayRef<double>(o.output_ratio()->data(), o.output_ratio()->size()) : ArrayRef<double>();
}
}  // namespace tandem::detail
