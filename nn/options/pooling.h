// Options of pooling. The template argument Size is int64_t, Pair or Triple; one number gives a window of equal sides.
#pragma once
#include <algorithm>
#include <concepts>
#include <initializer_list>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem::nn {

/// stride: kernel_size unless set.
template <class Size> struct MaxPoolOptions {
  MaxPoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  MaxPoolOptions(int64_t kernel_size) requires(!std::same_as<Size, int64_t>) : MaxPoolOptions(Size(kernel_size)) {}
  template <detail::SizeList<Size> List> MaxPoolOptions(const List& kernel_size) : MaxPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);
  TANDEM_ARG(Size, stride);             // distance between neighbouring windows; kernel_size unless set
  TANDEM_ARG(Size, padding) = 0;        // number of -infinity elements padded on each side, at most half of kernel_size
  TANDEM_ARG(Size, dilation) = 1;       // distance between neighbouring elements of a window
  TANDEM_ARG(bool, ceil_mode) = false;  // if true, the last window may extend beyond the input
};
using MaxPool1dOptions = MaxPoolOptions<int64_t>;
using MaxPool2dOptions = MaxPoolOptions<detail::Pair>;
using MaxPool3dOptions = MaxPoolOptions<detail::Triple>;

/// stride: kernel_size unless set. divisor_override: the divisor, instead of the number of elements in the window.
template <class Size> struct AvgPoolOptions {
  AvgPoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  AvgPoolOptions(int64_t kernel_size) : AvgPoolOptions(Size(kernel_size)) {}
  template <detail::SizeList<Size> List> AvgPoolOptions(const List& kernel_size) : AvgPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);               // size of a window
  TANDEM_ARG(Size, stride);                    // distance between neighbouring windows; kernel_size unless set
  TANDEM_ARG(Size, padding) = 0;               // number of zeros padded on each side
  TANDEM_ARG(bool, ceil_mode) = false;         // if true, the last window may extend beyond the input
  TANDEM_ARG(bool, count_include_pad) = true;  // if true, the divisor counts padding elements
  TANDEM_ARG(std::optional<int64_t>, divisor_override);  // divisor, instead of the number of elements in the window
};
using AvgPool2dOptions = AvgPoolOptions<detail::Pair>;
using AvgPool3dOptions = AvgPoolOptions<detail::Triple>;
struct AvgPool1dOptions {
  /// kernel_size: length of a window.
  AvgPool1dOptions(int64_t kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(int64_t, kernel_size);            // size of a window
  TANDEM_ARG(int64_t, stride);                 // distance between neighbouring windows; kernel_size unless set
  TANDEM_ARG(int64_t, padding) = 0;            // number of zeros padded on each side
  TANDEM_ARG(bool, ceil_mode) = false;         // if true, the last window may extend beyond the input
  TANDEM_ARG(bool, count_include_pad) = true;  // if true, the divisor counts padding elements
};

/// Output sizes: one per dimension, or one number for all dimensions; nullopt means the input's size.
template <size_t N> struct OutputSizes : std::array<std::optional<int64_t>, N> {
  OutputSizes(int64_t all) { this->fill(all); }
  OutputSizes(std::initializer_list<std::optional<int64_t>> list) { assign_sizes(list.begin(), list.size()); }
  OutputSizes(const std::vector<int64_t>& list) { assign_sizes(list.begin(), list.size()); }
  OutputSizes(const std::vector<std::optional<int64_t>>& list) { assign_sizes(list.begin(), list.size()); }
  OutputSizes(IntArrayRef list) { assign_sizes(list.begin(), list.size()); }
  /// Returns the sizes, with x's sizes for nullopt. @throws Error unless x has N dimensions after its channels
  ExpandingArray<N> resolve_sizes(const char* op, const Tensor& x) const {
    TANDEM_CHECK(x.dim() == N + 1 || x.dim() == N + 2, op, ": Expected ", N + 1, "D or ", N + 2, "D tensor, but got ",
                 x.sizes());
    ExpandingArray<N> y(0);
    for (size_t d = 0; d < N; ++d) y[d] = (*this)[d].value_or(x.size(static_cast<int64_t>(d) - int64_t{N}));
    return y;
  }

 private:
  template <class Iterator> void assign_sizes(Iterator from, size_t count) {
    TANDEM_CHECK(count == 1 || count == N, "Expected ", N, " values, but instead got ", count,
                 "; output_size is one number for all dimensions or one per dimension");
    for (size_t d = 0; d < N; ++d) (*this)[d] = from[count == 1 ? 0 : static_cast<std::ptrdiff_t>(d)];
  }
};
/// Options of adaptive pooling, average and max.
template <size_t N> struct AdaptivePoolOptions {
  AdaptivePoolOptions(OutputSizes<N> output_size) : output_size_(output_size) {}
  AdaptivePoolOptions(int64_t output_size) : output_size_(output_size) {}
  TANDEM_ARG(OutputSizes<N>, output_size);  // sizes of the output; nullopt: the input's size
};
template <> struct AdaptivePoolOptions<1> {
  AdaptivePoolOptions(int64_t output_size) : output_size_(output_size) {}
  TANDEM_ARG(int64_t, output_size);  // length of the output
};
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<3>;
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<3>;

/// Options of max unpooling. Pass the options of the max pool that is to be inverted. stride: kernel_size unless set.
template <class Size> struct MaxUnpoolOptions {
  MaxUnpoolOptions(Size kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  MaxUnpoolOptions(int64_t kernel_size) requires(!std::same_as<Size, int64_t>) : MaxUnpoolOptions(Size(kernel_size)) {}
  template <detail::SizeList<Size> List>
  MaxUnpoolOptions(const List& kernel_size) : MaxUnpoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);
  TANDEM_ARG(Size, stride);       // stride of the max pool; kernel_size unless set
  TANDEM_ARG(Size, padding) = 0;  // padding of the max pool
};
using MaxUnpool1dOptions = MaxUnpoolOptions<int64_t>;
using MaxUnpool2dOptions = MaxUnpoolOptions<detail::Pair>;
using MaxUnpool3dOptions = MaxUnpoolOptions<detail::Triple>;

/// stride: kernel_size unless set.
template <class Size> struct LPPoolOptions {
  LPPoolOptions(double norm_type, Size kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TANDEM_ARG(double, norm_type);        // exponent of the norm
  TANDEM_ARG(Size, kernel_size);        // size of a window
  TANDEM_ARG(Size, stride);             // distance between neighbouring windows; kernel_size unless set
  TANDEM_ARG(bool, ceil_mode) = false;  // if true, the last window may extend beyond the input
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
/// output_size: spatial sizes, or all sizes, of the max pool's input. The pooled sizes alone do not determine them,
/// because pooling rounds down.
template <class Size> struct MaxUnpoolFuncOptions : MaxUnpoolOptions<Size> {
  using MaxUnpoolOptions<Size>::MaxUnpoolOptions;
  MaxUnpoolFuncOptions(const MaxUnpoolOptions<Size>& o) : MaxUnpoolOptions<Size>(o) {}
  /// Sets the option as the base class does, but returns the derived type, so that setters can be chained.
  MaxUnpoolFuncOptions& stride(const Size& value) { return MaxUnpoolOptions<Size>::stride(value), *this; }
  /// Sets the option as the base class does, but returns the derived type.
  MaxUnpoolFuncOptions& padding(const Size& value) { return MaxUnpoolOptions<Size>::padding(value), *this; }
  using MaxUnpoolOptions<Size>::stride;
  using MaxUnpoolOptions<Size>::padding;
  TANDEM_ARG(std::optional<std::vector<int64_t>>, output_size);  // max pool's input sizes; nullopt: computed from x
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<int64_t>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<detail::Pair>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<detail::Triple>;
}  // namespace functional

/// Output sizes as fractions of the input's sizes: one per dimension, or one number for all dimensions.
template <size_t N> struct OutputRatios : std::array<double, N> {
  OutputRatios(double all) { this->fill(all); }
  OutputRatios(const std::vector<double>& list) {
    TANDEM_CHECK(list.size() == N, "Expected ", N, " values, but instead got ", list.size(),
                 "; output_ratio is one number for all dimensions or one per dimension");
    std::copy(list.begin(), list.end(), this->begin());
  }
  OutputRatios(std::initializer_list<double> list) : OutputRatios(std::vector<double>(list)) {}
};
/// Exactly one of output_size and output_ratio must be set. _random_samples: random numbers in [0, 1), as a tensor (N,
/// C, D) for D spatial dimensions; drawn in each forward unless set.
template <size_t N, class Size> struct FractionalMaxPoolOptions {
  FractionalMaxPoolOptions(Size kernel_size) : kernel_size_(kernel_size) {}
  FractionalMaxPoolOptions(int64_t kernel_size) : FractionalMaxPoolOptions(Size(kernel_size)) {}
  template <detail::SizeList<Size> List>
  FractionalMaxPoolOptions(const List& kernel_size) : FractionalMaxPoolOptions(Size(kernel_size)) {}
  TANDEM_ARG(Size, kernel_size);                             // size of a window
  TANDEM_ARG(std::optional<Size>, output_size);              // the sizes of the output
  TANDEM_ARG(std::optional<OutputRatios<N>>, output_ratio);  // output sizes as fractions of the input's sizes
  TANDEM_ARG(Tensor, _random_samples);  // numbers in [0, 1) that place the windows; drawn in each forward if undefined
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2, detail::Pair>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3, detail::Triple>;

}  // namespace tandem::nn

namespace tandem::detail {
/// Returns output_ratio as numbers; empty if it is not set.
template <class Options> ArrayRef<double> get_output_ratios(const Options& o) {
  return o.output_ratio() ? ArrayRef<double>(o.output_ratio()->data(), o.output_ratio()->size()) : ArrayRef<double>();
}
}  // namespace tandem::detail
