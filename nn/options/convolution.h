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
/// Paddings by name: kValid is no padding; kSame keeps the spatial sizes and needs strides of 1.
constexpr enumtype::kValid kValid{};
constexpr enumtype::kSame kSame{};

namespace detail {

/// Padding as numbers, kValid or kSame.
template <size_t D> using ConvPadding = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;

}  // namespace detail

namespace nn {

/// Options of Conv1d, Conv2d and Conv3d.
template <size_t D> struct ConvOptions {
  using padding_t = detail::ConvPadding<D>;
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);            // number of input channels
  TANDEM_ARG(int64_t, out_channels);           // number of output channels
  TANDEM_ARG(ExpandingArray<D>, kernel_size);  // size of the kernel
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;   // distance between neighbouring windows
  TANDEM_ARG(padding_t, padding) = 0;          // number of elements added on each side, or kSame or kValid

 public:
  /// Sets one padding per dimension: `padding({1, 2})`.
  ConvOptions& padding(std::initializer_list<int64_t> list) { return padding(padding_t(ExpandingArray<D>(list))); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // kZeros, kReflect, kReplicate or kCircular
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

/// Options of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d.
template <size_t D> struct ConvTransposeOptions {
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);                   // number of input channels
  TANDEM_ARG(int64_t, out_channels);                  // number of output channels
  TANDEM_ARG(ExpandingArray<D>, kernel_size);         // size of the kernel
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // distance between neighbouring windows
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;         // number of outer rows removed from each side of the output
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // number of elements added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;                    // number of groups of channels; each group has its own kernels
  TANDEM_ARG(bool, bias) = true;                      // whether a bias is added
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;        // distance between neighbouring elements of a window
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // must be kZeros
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {

/// Options of conv1d, conv2d and conv3d.
template <size_t D> struct ConvFuncOptions {
  using padding_t = detail::ConvPadding<D>;
  TANDEM_ARG(Tensor, bias);                   // (out_channels); undefined: no bias
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;  // distance between neighbouring windows
  TANDEM_ARG(padding_t, padding) = 0;         // number of elements added on each side, or kSame or kValid

 public:
  /// Sets one padding per dimension: `padding({1, 2})`.
  ConvFuncOptions& padding(std::initializer_list<int64_t> list) { return padding(padding_t(ExpandingArray<D>(list))); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

/// Options of conv_transpose1d, conv_transpose2d and conv_transpose3d.
template <size_t D> struct ConvTransposeFuncOptions {
  TANDEM_ARG(Tensor, bias);                           // (out_channels); undefined: no bias
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // distance between neighbouring windows
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;         // number of outer rows removed from each side of the output
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // number of elements added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;                    // number of groups of channels; each group has its own kernels
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;        // distance between neighbouring elements of a window
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

}  // namespace functional

}  // namespace nn

namespace detail {

/// Options stored in convolution modules and in transposed convolution modules.
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
  TANDEM_ARG(int64_t, in_channels);                   // number of input channels
  TANDEM_ARG(int64_t, out_channels);                  // number of output channels
  TANDEM_ARG(ExpandingArray<D>, kernel_size);         // size of the kernel
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;          // distance between neighbouring windows
  TANDEM_ARG(padding_t, padding) = 0;                 // number of elements added on each side, or kSame or kValid
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;        // distance between neighbouring elements of a window
  TANDEM_ARG(bool, transposed) = false;               // whether the convolution is transposed
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;  // number of elements added to one side of the output
  TANDEM_ARG(int64_t, groups) = 1;                    // number of groups of channels; each group has its own kernels
  TANDEM_ARG(bool, bias) = true;                      // whether a bias is added
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;  // values used outside the input
};

}  // namespace detail

}  // namespace tandem
