// Implements the printing of pooling modules, and the buffers of fractional max pooling modules.
#include "tandem/nn/pooling.h"

#include <sstream>

#include "tandem/nn/module/print.h"

namespace tandem::nn {
template class Cloneable<FractionalMaxPool2dImpl>;
template class Cloneable<FractionalMaxPool3dImpl>;
namespace {
template <size_t N> std::string format_output_sizes(const OutputSizes<N>& sizes) {
  const auto one = [](std::optional<int64_t> size) { return size ? std::to_string(*size) : "None"; };
  bool same = sizes[0].has_value();
  for (const auto& size : sizes) same = same && size == sizes[0];
  if (same) return one(sizes[0]);
  std::string text = "(";
  for (const auto& size : sizes) text += (text.size() > 1 ? ", " : "") + one(size);
  return text + ")";
}
template <class... Parts> std::string concat_text(const Parts&... text) {
  std::ostringstream out;
  (out << ... << text);
  return out.str();
}
template <class O> std::string format_max_pool(const O& o) {
  return concat_text("kernel_size=", to_python_string(o.kernel_size()), ", stride=", to_python_string(o.stride()),
                     ", padding=", to_python_string(o.padding()), ", dilation=", to_python_string(o.dilation()),
                     ", ceil_mode=", to_python_string(o.ceil_mode()));
}
template <class O> std::string format_avg_pool(const O& o) {
  return concat_text("kernel_size=", to_python_string(o.kernel_size()), ", stride=", to_python_string(o.stride()),
                     ", padding=", to_python_string(o.padding()));
}
template <class O> std::string format_unpool(const O& o) {
  return concat_text("kernel_size=", format_tuple(o.kernel_size()), ", stride=", format_tuple(o.stride()),
                     ", padding=", format_tuple(o.padding()));
}
template <class O> std::string format_lp_pool(const O& o) {
  return concat_text("norm_type=", to_python_string(o.norm_type()), ", kernel_size=", to_python_string(o.kernel_size()),
                     ", stride=", to_python_string(o.stride()), ", ceil_mode=", to_python_string(o.ceil_mode()));
}
}  // namespace

TANDEM_DEFINE_PRETTY_PRINT(MaxPool1d, format_max_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(MaxPool2d, format_max_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(MaxPool3d, format_max_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(AvgPool1d, format_unpool(options))  // prints tuples of one element, as Python does
TANDEM_DEFINE_PRETTY_PRINT(AvgPool2d, format_avg_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(AvgPool3d, format_avg_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveAvgPool1d, "output_size=" << options.output_size())
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveAvgPool2d, "output_size=" << format_output_sizes(options.output_size()))
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveAvgPool3d, "output_size=" << format_output_sizes(options.output_size()))
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveMaxPool1d, "output_size=" << options.output_size())
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveMaxPool2d, "output_size=" << format_output_sizes(options.output_size()))
TANDEM_DEFINE_PRETTY_PRINT(AdaptiveMaxPool3d, "output_size=" << format_output_sizes(options.output_size()))
TANDEM_DEFINE_PRETTY_PRINT(MaxUnpool1d, format_unpool(options))
TANDEM_DEFINE_PRETTY_PRINT(MaxUnpool2d, format_unpool(options))
TANDEM_DEFINE_PRETTY_PRINT(MaxUnpool3d, format_unpool(options))
TANDEM_DEFINE_PRETTY_PRINT(LPPool1d, format_lp_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(LPPool2d, format_lp_pool(options))
TANDEM_DEFINE_PRETTY_PRINT(LPPool3d, format_lp_pool(options))

void FractionalMaxPool2dImpl::reset() {
  detail::check_output_size_or_ratio("FractionalMaxPool2d", options.output_size().has_value(),
                                     detail::get_output_ratios(options));
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool2d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool2d_with_indices(
      x, FractionalMaxPool2dOptions(options)._random_samples(_random_samples));
}
void FractionalMaxPool3dImpl::reset() {
  detail::check_output_size_or_ratio("FractionalMaxPool3d", options.output_size().has_value(),
                                     detail::get_output_ratios(options));
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool3d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool3d_with_indices(
      x, FractionalMaxPool3dOptions(options)._random_samples(_random_samples));
}

}  // namespace tandem::nn
