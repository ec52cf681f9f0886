// Implements the printing of pooling modules, and the buffers of fractional max pooling modules.
#include "tandem/nn/pooling.h"

#include <sstream>

#include "tandem/nn/module/print.h"

namespace tandem::nn {
template class Cloneable<FractionalMaxPool2dImpl>;
template class Cloneable<FractionalMaxPool3dImpl>;
namespace {
template <size_t N> std::string sizes_text(const OutputSizes<N>& sizes) {
  const auto one = [](std::optional<int64_t> size) { return size ? std::to_string(*size) : "None"; };
  bool same = sizes[0].has_value();
  for (const auto& size : sizes) same = same && size == sizes[0];
  if (same) return one(sizes[0]);
  std::string text = "(";
  for (const auto& size : sizes) text += (text.size() > 1 ? ", " : "") + one(size);
  return text + ")";
}
template <class... Parts> std::string parts(const Parts&... text) {
  std::ostringstream out;
  (out << ... << text);
  return out.str();
}
template <class O> std::string max_pool_text(const O& o) {
  return parts("kernel_size=", printed(o.kernel_size()), ", stride=", printed(o.stride()),
               ", padding=", printed(o.padding()), ", dilation=", printed(o.dilation()),
               ", ceil_mode=", printed(o.ceil_mode()));
}
template <class O> std::string avg_pool_text(const O& o) {
  return parts("kernel_size=", printed(o.kernel_size()), ", stride=", printed(o.stride()),
               ", padding=", printed(o.padding()));
}
template <class O> std::string unpool_text(const O& o) {
  return parts("kernel_size=", tuple(o.kernel_size()), ", stride=", tuple(o.stride()),
               ", padding=", tuple(o.padding()));
}
template <class O> std::string lp_pool_text(const O& o) {
  return parts("norm_type=", printed(o.norm_type()), ", kernel_size=", printed(o.kernel_size()),
               ", stride=", printed(o.stride()), ", ceil_mode=", printed(o.ceil_mode()));
}
}  // namespace

TANDEM_MODULE_TEXT(MaxPool1d, max_pool_text(options))
TANDEM_MODULE_TEXT(MaxPool2d, max_pool_text(options))
TANDEM_MODULE_TEXT(MaxPool3d, max_pool_text(options))
TANDEM_MODULE_TEXT(AvgPool1d, unpool_text(options))  // prints tuples of one element, as Python does
TANDEM_MODULE_TEXT(AvgPool2d, avg_pool_text(options))
TANDEM_MODULE_TEXT(AvgPool3d, avg_pool_text(options))
TANDEM_MODULE_TEXT(AdaptiveAvgPool1d, "output_size=" << options.output_size())
TANDEM_MODULE_TEXT(AdaptiveAvgPool2d, "output_size=" << sizes_text(options.output_size()))
TANDEM_MODULE_TEXT(AdaptiveAvgPool3d, "output_size=" << sizes_text(options.output_size()))
TANDEM_MODULE_TEXT(AdaptiveMaxPool1d, "output_size=" << options.output_size())
TANDEM_MODULE_TEXT(AdaptiveMaxPool2d, "output_size=" << sizes_text(options.output_size()))
TANDEM_MODULE_TEXT(AdaptiveMaxPool3d, "output_size=" << sizes_text(options.output_size()))
TANDEM_MODULE_TEXT(MaxUnpool1d, unpool_text(options))
TANDEM_MODULE_TEXT(MaxUnpool2d, unpool_text(options))
TANDEM_MODULE_TEXT(MaxUnpool3d, unpool_text(options))
TANDEM_MODULE_TEXT(LPPool1d, lp_pool_text(options))
TANDEM_MODULE_TEXT(LPPool2d, lp_pool_text(options))
TANDEM_MODULE_TEXT(LPPool3d, lp_pool_text(options))

void FractionalMaxPool2dImpl::reset() {
  detail::check_fraction("FractionalMaxPool2d", options.output_size().has_value(), detail::ratios_of(options));
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool2d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool2d_with_indices(
      x, FractionalMaxPool2dOptions(options)._random_samples(_random_samples));
}
void FractionalMaxPool3dImpl::reset() {
  detail::check_fraction("FractionalMaxPool3d", options.output_size().has_value(), detail::ratios_of(options));
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool3d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool3d_with_indices(
      x, FractionalMaxPool3dOptions(options)._random_samples(_random_samples));
}

}  // namespace tandem::nn
