// Convolutions and transposed convolutions in one, two and three dimensions: modules, and functions that take options.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/nn/options/convolution.h"
#include "tandem/ops/nn/convolution.h"

namespace tandem::detail {

/// Initialises weight and bias as PyTorch does for linear layers and convolutions: uniform in +-1 / sqrt(fan_in).
void reset_weight_and_bias(const Tensor& weight, const Tensor& bias);
/// Registers the parameters of a convolution. @throws Error if options contradict each other
template <size_t D>
void init_convolution(nn::Module& module, const ConvNdOptions<D>& options, Tensor& weight, Tensor& bias);
/// Prints the module, for example "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))".
template <size_t D> void print_convolution(std::ostream& out, const ConvNdOptions<D>& options);
template <size_t D>
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvNdOptions<D>& options);
template <size_t D>
Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const ConvNdOptions<D>& options, std::optional<IntArrayRef> output_size);

}  // namespace tandem::detail

namespace tandem::nn {

namespace functional {

/// The functions of ops/nn/convolution.h with their arguments as options; padding may also be kValid or kSame.
/// @throws Error for kSame with strides other than 1
Tensor conv1d(const Tensor& x, const Tensor& weight, const Conv1dFuncOptions& o = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Conv2dFuncOptions& o = {});
Tensor conv3d(const Tensor& x, const Tensor& weight, const Conv3dFuncOptions& o = {});
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const ConvTranspose1dFuncOptions& o = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const ConvTranspose2dFuncOptions& o = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const ConvTranspose3dFuncOptions& o = {});

}  // namespace functional

/// Base class of all convolution modules.
template <size_t D, class Derived> class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const detail::ConvNdOptions<D>& o) : options(o) { ConvNdImpl::reset(); }
  void reset() override { detail::init_convolution(*this, options, weight, bias); }
  /// Initialises weight and bias uniformly in +-1 / sqrt(fan_in), as torch::nn does.
  void reset_parameters() { detail::reset_weight_and_bias(weight, bias); }
  void pretty_print(std::ostream& out) const override { detail::print_convolution(out, options); }
  detail::ConvNdOptions<D> options;
  Tensor weight;  // (out, in / groups, ...kernel_size); if transposed, (in, out / groups, ...kernel_size)
  Tensor bias;    // (out_channels); undefined if options.bias() is false
};
/// Base class of all transposed convolution modules.
template <size_t D, class Derived> class ConvTransposeNdImpl : public ConvNdImpl<D, Derived> {
 public:
  using ConvNdImpl<D, Derived>::ConvNdImpl;
  /// Computes the transposed convolution of x, (N, C, ...) or (C, ...), with out_channels channels in the result. With
  /// strides above 1 several output sizes are possible. `output_size`, D sizes or the sizes of all dimensions, selects
  /// one and replaces options.output_padding(). @throws Error for an impossible output_size
  Tensor forward(const Tensor& x, std::optional<IntArrayRef> output_size = std::nullopt) {
    return detail::transposed_convolution(x, this->weight, this->bias, this->options, output_size);
  }
};

/// 1-d convolution (cross-correlation); see ops/nn/convolution.h.
class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& o) : ConvNdImpl(o) {}
  /// x (N, C, L) or (C, L) -> (N, O, OL) or (O, OL)
  Tensor forward(const Tensor& x) { return detail::convolution(x, weight, bias, options); }
};
TANDEM_LIBRARY_MODULE(Conv1d);

/// 2-d convolution (cross-correlation); see ops/nn/convolution.h.
class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& o) : ConvNdImpl(o) {}
  /// x (N, C, H, W) or (C, H, W) -> (N, O, OH, OW) or (O, OH, OW)
  Tensor forward(const Tensor& x) { return detail::convolution(x, weight, bias, options); }
};
TANDEM_LIBRARY_MODULE(Conv2d);

/// 3-d convolution (cross-correlation); see ops/nn/convolution.h.
class Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv3dImpl(const Conv3dOptions& o) : ConvNdImpl(o) {}
  /// x (N, C, D, H, W) or (C, D, H, W) -> (N, O, OD, OH, OW) or (O, OD, OH, OW)
  Tensor forward(const Tensor& x) { return detail::convolution(x, weight, bias, options); }
};
TANDEM_LIBRARY_MODULE(Conv3d);

/// 1-d transposed convolution.
class ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose1dImpl(const ConvTranspose1dOptions& o) : ConvTransposeNdImpl(o) {}
};
TANDEM_LIBRARY_MODULE(ConvTranspose1d);

/// 2-d transposed convolution.
class ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(const ConvTranspose2dOptions& o) : ConvTransposeNdImpl(o) {}
};
TANDEM_LIBRARY_MODULE(ConvTranspose2d);

/// 3-d transposed convolution.
class ConvTranspose3dImpl : public ConvTransposeNdImpl<3, ConvTranspose3dImpl> {
 public:
  /// Takes the numbers of input and output channels, and the kernel size (one number, or one for each dimension).
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose3dImpl(const ConvTranspose3dOptions& o) : ConvTransposeNdImpl(o) {}
};
TANDEM_LIBRARY_MODULE(ConvTranspose3d);

}  // namespace tandem::nn
