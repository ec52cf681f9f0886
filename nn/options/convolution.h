// Options of convolutions in one, two and three dimensions.
#pragma once
#include <variant>

#include "tandem/core/option.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {

namespace enumtype {
struct kValid {};
struct kSame {};
}  // namespace enumtype
/// Paddings of a convolution: none, and one that leaves the sizes as they are, which needs strides of 1.
constexpr enumtype::kValid kValid{};
constexpr enumtype::kSame kSame{};

namespace detail {

/// Numbers, kValid or kSame.
template <size_t D> using ConvPadding = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;

}  // namespace detail

namespace nn {

/// Of Conv1d, Conv2d and Conv3d.
template <size_t D> struct ConvOptions {
  using padding_t = detail::ConvPadding<D>;
  /// Channels of input and output; one number is a kernel of that size in each dimension.
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);            // channels of the input
  TANDEM_ARG(int64_t, out_channels);           // channels of the output
  TANDEM_ARG(ExpandingArray<D>, kernel_size);  // the size of a window
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;   // the step from window to window
  TANDEM_ARG(padding_t, padding) = 0;          // or kSame, kValid

 public:
  /// One number for each dimension: `padding({1, 2})`.
  ConvOptions& padding(std::initializer_list<int64_t> list) { return padding(padding_t(ExpandingArray<D>(list))); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // or reflect, replicate, circular
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

/// Of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d.
template <size_t D> struct ConvTransposeOptions {
  /// Channels of input and output; one number is a kernel of that size in each dimension.
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);                   // channels of the input
  TANDEM_ARG(int64_t, out_channels);                  // channels of the output
  TANDEM_ARG(ExpandingArray<D>, kernel_size);         // the size of a window
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // the step from window to window
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;         // zeros on each side
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;  // channels are divided into so many groups, each with kernels of its own
  TANDEM_ARG(bool, bias) = true;    // whether a bias is added
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;                 // the step from element to element of a window
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // the only one
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {

/// Of conv1d, conv2d and conv3d.
template <size_t D> struct ConvFuncOptions {
  using padding_t = detail::ConvPadding<D>;
  TANDEM_ARG(Tensor, bias);                   // (out_channels), or none
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;  // the step from window to window
  TANDEM_ARG(padding_t, padding) = 0;         // or kSame, kValid

 public:
  /// One number for each dimension: `padding({1, 2})`.
  ConvFuncOptions& padding(std::initializer_list<int64_t> list) { return padding(padding_t(ExpandingArray<D>(list))); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

/// Of conv_transpose1d, conv_transpose2d and conv_transpose3d.
template <size_t D> struct ConvTransposeFuncOptions {
  TANDEM_ARG(Tensor, bias);                           // (out_channels), or none
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // the step from window to window
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;         // zeros on each side
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;  // channels are divided into so many groups, each with kernels of its own
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;  // the step from element to element of a window
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

}  // namespace functional

}  // namespace nn

namespace detail {

/// What both kinds of module keep.
template <size_t D> struct ConvNdOptions {
  using padding_t = ConvPadding<D>;
  ConvNdOptions(const nn::ConvOptions<D>& o)
      : in_channels_(o.in_channels()),
        out_channels_(o.out_channels()),
        kernel_size_(o.kernel_size()),
        stride_(o.stride()),
        padding_(o.padding()),
        dilation_(o.dilation()),
        groups_(o.groups()),
        bias_(o.bias()),
        padding_mode_(o.padding_mode()) {}
  ConvNdOptions(const nn::ConvTransposeOptions<D>& o)
      : in_channels_(o.in_channels()),
        out_channels_(o.out_channels()),
        kernel_size_(o.kernel_size()),
        stride_(o.stride()),
        padding_(o.padding()),
        dilation_(o.dilation()),
        transposed_(true),
        output_padding_(o.output_padding()),
        groups_(o.groups()),
        bias_(o.bias()),
        padding_mode_(o.padding_mode()) {}
  TANDEM_ARG(int64_t, in_channels);                   // channels of the input
  TANDEM_ARG(int64_t, out_channels);                  // channels of the output
  TANDEM_ARG(ExpandingArray<D>, kernel_size);         // the size of a window
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // the step from window to window
  TANDEM_ARG(padding_t, padding) = 0;                 // zeros on each side
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;        // the step from element to element of a window
  TANDEM_ARG(bool, transposed) = false;               // whether it is the transposed one
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;  // channels are divided into so many groups, each with kernels of its own
  TANDEM_ARG(bool, bias) = true;    // whether a bias is added
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // what stands beyond the borders
};

}  // namespace detail

}  // namespace tandem
