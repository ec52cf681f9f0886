// Implements convolution modules: checks of options, padding modes, and printing.
#include "tandem/nn/convolution.h"

#include <cmath>

#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/factory/empty.h"

namespace tandem {
namespace nn {
template class Cloneable<Conv1dImpl>;
template class Cloneable<Conv2dImpl>;
template class Cloneable<Conv3dImpl>;
template class Cloneable<ConvTranspose1dImpl>;
template class Cloneable<ConvTranspose2dImpl>;
template class Cloneable<ConvTranspose3dImpl>;
}  // namespace nn

namespace {

/// Returns the mode's name in Python. @throws Error for a mode that convolutions do not support
const char* padding_mode_name(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::zeros: return "zeros";
    case PaddingMode::reflect: return "reflect";
    case PaddingMode::replicate: return "replicate";
    case PaddingMode::circular: return "circular";
    default: TANDEM_CHECK(false, "convolution: padding_mode must be one of kZeros, kReflect, kReplicate and kCircular");
  }
  return "";
}
template <size_t D> std::string class_name(const ConvNdOptions<D>& o) {
  std::string name = o.transposed() ? "ConvTranspose" : "Conv";
  name += std::to_string(D);
  return name += 'd';
}

/// Number of padding elements before and behind each spatial dimension.
template <size_t D> struct SidePadding {
  ExpandingArray<D> before = 0, after = 0;
  bool is_symmetric() const { return before == after; }
  /// Returns the padding in the order of pad(): last dimension first.
  std::vector<int64_t> to_pad_list() const {
    std::vector<int64_t> out;
    out.reserve(2 * D);
    for (size_t d = D; d-- > 0;) out.push_back(before[d]), out.push_back(after[d]);
    return out;
  }
};
/// Converts a padding option to numbers. @param kernel  kernel size in each dimension
template <size_t D>
SidePadding<D> resolve_padding(const ConvPadding<D>& padding, const ExpandingArray<D>& kernel,
                               const ExpandingArray<D>& stride, const ExpandingArray<D>& dilation) {
  SidePadding<D> out;
  if (const auto* const sizes = std::get_if<ExpandingArray<D>>(&padding)) {
    out.before = out.after = *sizes;
  } else if (std::holds_alternative<enumtype::kSame>(padding)) {
    TANDEM_CHECK(stride == ExpandingArray<D>(1), "conv", D,
                 "d: padding='same' is not supported for strided convolutions; strides are ", IntArrayRef(*stride));
    for (size_t d = 0; d < D; ++d) {
      const int64_t all = dilation[d] * (kernel[d] - 1);
      out.before[d] = all / 2, out.after[d] = all - all / 2;
    }
  }
  return out;
}
template <size_t D>
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const ExpandingArray<D>& stride,
                const ExpandingArray<D>& padding, const ExpandingArray<D>& dilation, int64_t groups) {
  if constexpr (D == 1)
    return tandem::conv1d(x, weight, bias, stride[0], padding[0], dilation[0], groups);
  else if constexpr (D == 2)
    return tandem::conv2d(x, weight, bias, stride, padding, dilation, groups);
  else
    return tandem::conv3d(x, weight, bias, stride, padding, dilation, groups);
}
/// Convolves x with zero padding.
template <size_t D>
Tensor convolve_padded(Tensor x, const Tensor& weight, const Tensor& bias, const ExpandingArray<D>& stride,
                       SidePadding<D> padded, const ExpandingArray<D>& dilation, int64_t groups) {
  if (!padded.is_symmetric()) {  // convolve() pads both sides equally, so pad() adds the excess of one side
    SidePadding<D> rest;
    for (size_t d = 0; d < D; ++d) rest.after[d] = padded.after[d] - padded.before[d];
    x = pad(x, rest.to_pad_list(), PaddingMode::constant);
  }
  return convolve(x, weight, bias, stride, padded.before, dilation, groups);
}
template <size_t D>
Tensor convolve_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias, const ExpandingArray<D>& stride,
                           const ExpandingArray<D>& padding, const ExpandingArray<D>& output_padding, int64_t groups,
                           const ExpandingArray<D>& dilation) {
  if constexpr (D == 1)
    return tandem::conv_transpose1d(x, weight, bias, stride[0], padding[0], output_padding[0], groups, dilation[0]);
  else if constexpr (D == 2)
    return tandem::conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation);
  else
    return tandem::conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation);
}

template <size_t D>
Tensor convolve(const Tensor& x, const Tensor& weight, const nn::functional::ConvFuncOptions<D>& o) {
  ExpandingArray<D> kernel = 1;
  // Skipped if `weight` does not have D + 2 dimensions; convolve() then throws.
  for (size_t d = 0; d < D && weight.dim() == static_cast<int64_t>(D) + 2; ++d)
    kernel[d] = weight.size(static_cast<int64_t>(d) + 2);
  return convolve_padded(x, weight, o.bias(), o.stride(),
                         resolve_padding(o.padding(), kernel, o.stride(), o.dilation()), o.dilation(), o.groups());
}
template <size_t D>
Tensor convolve(const Tensor& x, const Tensor& weight, const nn::functional::ConvTransposeFuncOptions<D>& o) {
  return convolve_transposed(x, weight, o.bias(), o.stride(), o.padding(), o.output_padding(), o.groups(),
                             o.dilation());
}

}  // namespace

void detail::reset_weight_and_bias(const Tensor& weight, const Tensor& bias) {
  nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const auto in = std::get<0>(nn::init::calculate_fan_in_and_fan_out(weight));
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  nn::init::uniform_(bias, -bound, bound);
}

template <size_t D>
void detail::init_convolution(nn::Module& module, const ConvNdOptions<D>& o, Tensor& weight, Tensor& bias) {
  const std::string name = class_name(o);
  for (const int64_t size : o.kernel_size())
    TANDEM_CHECK(size > 0, name, ": kernel size should be greater than zero, but got ", IntArrayRef(*o.kernel_size()));
  const int64_t in = o.in_channels(), out = o.out_channels(), groups = o.groups();
  TANDEM_CHECK(groups > 0 && in > 0 && out > 0, name,
               ": in_channels, groups and out_channels must be a positive integer. Got in_channels ", in, ", groups ",
               groups, " and out_channels ", out);
  TANDEM_CHECK(in % groups == 0, name, ": in_channels must be divisible by groups, got ", in, " channels and ", groups,
               " groups");
  TANDEM_CHECK(out % groups == 0, name, ": out_channels must be divisible by groups, got ", out, " channels and ",
               groups, " groups");
  padding_mode_name(o.padding_mode());
  if (!o.transposed()) resolve_padding(o.padding(), o.kernel_size(), o.stride(), o.dilation());
  Shape sizes = o.transposed() ? Shape{o.in_channels(), o.out_channels() / o.groups()}
                               : Shape{o.out_channels(), o.in_channels() / o.groups()};
  for (const int64_t size : o.kernel_size()) sizes.push_back(size);
  weight = module.register_parameter("weight", empty(sizes));
  if (o.bias()) bias = module.register_parameter("bias", empty({o.out_channels()}));
  reset_weight_and_bias(weight, bias);
}

template <size_t D> void detail::print_convolution(std::ostream& out, const ConvNdOptions<D>& o) {
  out << class_name(o) << "(" << o.in_channels() << ", " << o.out_channels()
      << ", kernel_size=" << nn::format_tuple(o.kernel_size()) << ", stride=" << nn::format_tuple(o.stride());
  if (const auto* const sizes = std::get_if<ExpandingArray<D>>(&o.padding())) {
    if (*sizes != ExpandingArray<D>(0)) out << ", padding=" << nn::format_tuple(*sizes);
  } else {
    out << ", padding=" << (std::holds_alternative<enumtype::kSame>(o.padding()) ? "same" : "valid");
  }
  if (o.dilation() != ExpandingArray<D>(1)) out << ", dilation=" << nn::format_tuple(o.dilation());
  if (o.output_padding() != ExpandingArray<D>(0)) out << ", output_padding=" << nn::format_tuple(o.output_padding());
  if (o.groups() != 1) out << ", groups=" << o.groups();
  if (!o.bias()) out << ", bias=False";
  if (o.padding_mode() != PaddingMode::zeros) out << ", padding_mode=" << padding_mode_name(o.padding_mode());
  out << ")";
}

template <size_t D>
Tensor detail::convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvNdOptions<D>& o) {
  const SidePadding<D> padded = resolve_padding(o.padding(), o.kernel_size(), o.stride(), o.dilation());
  if (o.padding_mode() == PaddingMode::zeros)
    return convolve_padded(x, weight, bias, o.stride(), padded, o.dilation(), o.groups());
  return convolve(pad(x, padded.to_pad_list(), o.padding_mode()), weight, bias, o.stride(), ExpandingArray<D>(0),
                  o.dilation(), o.groups());
}

template <size_t D>
Tensor detail::transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                      const ConvNdOptions<D>& o, std::optional<IntArrayRef> output_size) {
  TANDEM_CHECK(o.padding_mode() == PaddingMode::zeros, "Only `zeros` padding mode is supported for ", class_name(o),
               ", got ", padding_mode_name(o.padding_mode()));
  const ExpandingArray<D> padding = std::get<ExpandingArray<D>>(o.padding());
  ExpandingArray<D> added = o.output_padding();
  if (output_size) {
    const int64_t leading = x.dim() - static_cast<int64_t>(D);
    TANDEM_CHECK(leading >= 1 && (output_size->size() == D || static_cast<int64_t>(output_size->size()) == x.dim()),
                 class_name(o), ": output_size must have ", D, " or ", x.dim(), " elements (got ", output_size->size(),
                 "); x is ", x.sizes(), " and must have at least ", D + 1, " dimensions");
    const IntArrayRef sizes = output_size->slice(output_size->size() - D, D);
    for (size_t d = 0; d < D; ++d) {
      const int64_t least = (x.size(leading + static_cast<int64_t>(d)) - 1) * o.stride()[d] - 2 * padding[d] +
                            o.dilation()[d] * (o.kernel_size()[d] - 1) + 1;
      TANDEM_CHECK(sizes[d] >= least && sizes[d] < least + o.stride()[d], class_name(o),
                   ": requested an output size of ", *output_size, ", but valid sizes range from ", least, " to ",
                   least + o.stride()[d] - 1, " in spatial dimension ", d, "; x is ", x.sizes());
      added[d] = sizes[d] - least;
    }
  }
  return convolve_transposed(x, weight, bias, o.stride(), padding, added, o.groups(), o.dilation());
}

#define TANDEM_INSTANTIATE_CONVOLUTION(D)                                                                              \
  template void detail::init_convolution(nn::Module&, const ConvNdOptions<D>&, Tensor&, Tensor&);                      \
  template void detail::print_convolution(std::ostream&, const ConvNdOptions<D>&);                                     \
  template Tensor detail::convolution(const Tensor&, const Tensor&, const Tensor&, const ConvNdOptions<D>&);           \
  template Tensor detail::transposed_convolution(const Tensor&, const Tensor&, const Tensor&, const ConvNdOptions<D>&, \
                                                 std::optional<IntArrayRef>);                                          \
  Tensor nn::functional::conv##D##d(const Tensor& x, const Tensor& weight, const Conv##D##dFuncOptions& o) {           \
    return convolve(x, weight, o);                                                                                     \
  }                                                                                                                    \
  Tensor nn::functional::conv_transpose##D##d(const Tensor& x, const Tensor& weight,                                   \
                                              const ConvTranspose##D##dFuncOptions& o) {                               \
    return convolve(x, weight, o);                                                                                     \
  }
TANDEM_INSTANTIATE_CONVOLUTION(1)
TANDEM_INSTANTIATE_CONVOLUTION(2)
TANDEM_INSTANTIATE_CONVOLUTION(3)

}  // namespace tandem
