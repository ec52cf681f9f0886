// Pools: checks of options, what modules print, and pools that are made of others.
#include "tandem/nn/pooling.h"

#include <sstream>

#include "tandem/nn/module/print.h"
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/shape/tensor_properties.h"

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
template <class Options> void check_fraction(const char* op, const Options& o) {
  TANDEM_CHECK(o.output_size().has_value() != o.output_ratio().has_value(), op, ": output_size and output_ratio are ",
               o.output_size() ? "both" : "neither", " given; accepted: one of them");
  if (!o.output_ratio()) return;
  for (const double ratio : *o.output_ratio())
    TANDEM_CHECK(ratio > 0 && ratio < 1, op, ": output_ratio holds ", ratio, "; accepted: between 0 and 1");
}
/// Sizes of x's last dimensions, or shares of them.
template <class Size, class Options> Size fractional_output(const char* op, const Tensor& x, const Options& o) {
  check_fraction(op, o);
  if (o.output_size()) return *o.output_size();
  Size out = 1;
  const auto dims = static_cast<int64_t>(out.size());
  TANDEM_CHECK(x.dim() > dims, op, ": x is ", x.sizes(), "; accepted: ", dims + 1, " or ", dims + 2, " dimensions");
  for (size_t d = 0; d < out.size(); ++d)
    out[d] = static_cast<int64_t>(static_cast<double>(x.size(static_cast<int64_t>(d) - dims)) * (*o.output_ratio())[d]);
  return out;
}
template <class Options> Tensor samples_of(const Tensor& x, const Options& o, int64_t dims) {
  if (o._random_samples().defined()) return o._random_samples();
  return rand({x.dim() == dims + 1 ? 1 : x.size(0), x.size(-dims - 1), dims}, x.options());
}
}  // namespace

TANDEM_MODULE_TEXT(MaxPool1d, max_pool_text(options))
TANDEM_MODULE_TEXT(MaxPool2d, max_pool_text(options))
TANDEM_MODULE_TEXT(MaxPool3d, max_pool_text(options))
TANDEM_MODULE_TEXT(AvgPool1d, unpool_text(options))  // Python's AvgPool1d has tuples of one too
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

namespace functional {
namespace {
/// The sizes with those of x in the place of nullopt.
template <size_t N> Shape output_of(const char* op, const OutputSizes<N>& sizes, const Tensor& x) {
  TANDEM_CHECK(x.dim() == N + 1 || x.dim() == N + 2, op, ": x is ", x.sizes(), "; accepted: ", N,
               " dimensions after the channels, with a batch or without");
  Shape y;
  for (size_t d = 0; d < N; ++d) y.push_back(sizes[d].value_or(x.size(static_cast<int64_t>(d) - int64_t{N})));
  return y;
}
/// The spatial sizes of what the max pool had.
template <class Size> Shape unpooled(const char* op, const Tensor& x, const MaxUnpoolFuncOptions<Size>& o) {
  const IntArrayRef kernel(o.kernel_size()), stride(o.stride()), padding(o.padding());
  const size_t spatial = kernel.size();
  const auto rank = static_cast<size_t>(x.dim());
  TANDEM_CHECK(rank == spatial + 1 || rank == spatial + 2, op, ": x is ", x.sizes(), "; accepted: ", spatial,
               " dimensions after the channels, with a batch or without");
  Shape sizes;
  for (size_t d = 0; d < spatial; ++d)
    sizes.push_back((x.sizes()[rank - spatial + d] - 1) * stride[d] - 2 * padding[d] + kernel[d]);
  if (!o.output_size()) return sizes;
  const IntArrayRef given(*o.output_size());
  bool near = given.size() == spatial || given.size() == rank;
  for (size_t d = 0; d < spatial && near; ++d)
    near = std::abs(given[given.size() - spatial + d] - sizes[d]) < stride[d];
  TANDEM_CHECK(near, op, ": output_size is ", given, "; accepted: less than a stride, ", stride, ", from ",
               IntArrayRef(sizes), ", with the sizes before them or without");
  return given.slice(given.size() - spatial, spatial);
}
}  // namespace

Tensor adaptive_avg_pool2d(const Tensor& x, const AdaptiveAvgPool2dOptions& o) {
  return tandem::adaptive_avg_pool2d(x, IntArrayRef(output_of("adaptive_avg_pool2d", o.output_size(), x)));
}
Tensor adaptive_avg_pool3d(const Tensor& x, const AdaptiveAvgPool3dOptions& o) {
  return tandem::adaptive_avg_pool3d(x, IntArrayRef(output_of("adaptive_avg_pool3d", o.output_size(), x)));
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& x, const AdaptiveMaxPool1dOptions& o) {
  return tandem::adaptive_max_pool1d(x, o.output_size());
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& x, const AdaptiveMaxPool2dOptions& o) {
  return tandem::adaptive_max_pool2d(x, IntArrayRef(output_of("adaptive_max_pool2d", o.output_size(), x)));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& x, const AdaptiveMaxPool3dOptions& o) {
  return tandem::adaptive_max_pool3d(x, IntArrayRef(output_of("adaptive_max_pool3d", o.output_size(), x)));
}
Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const MaxUnpool1dFuncOptions& o) {
  const int64_t size = unpooled("max_unpool1d", x, o)[0];
  return tandem::max_unpool2d(x.unsqueeze(-2), indices.unsqueeze(-2), {1, size}).squeeze(-2);
}
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const MaxUnpool2dFuncOptions& o) {
  return tandem::max_unpool2d(x, indices, unpooled("max_unpool2d", x, o));
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const MaxUnpool3dFuncOptions& o) {
  return tandem::max_unpool3d(x, indices, unpooled("max_unpool3d", x, o), o.stride(), o.padding());
}

namespace {
/// From the averages of windows of x^p.
Tensor lp_norms(const char* op, const Tensor& means, double p, int64_t elements) {
  TANDEM_CHECK(p != 0, op, ": norm_type is 0; accepted: any other number");
  // PyTorch's formula, with the slopes that it has at 0.
  return (means.sign() * means.abs().relu() * static_cast<double>(elements)).pow(1 / p);
}
}  // namespace
Tensor lp_pool1d(const Tensor& x, const LPPool1dOptions& o) {
  const Tensor means =
      tandem::avg_pool1d(x.pow(o.norm_type()), o.kernel_size(), IntArrayRef(o.stride()), 0, o.ceil_mode());
  return lp_norms("lp_pool1d", means, o.norm_type(), o.kernel_size());
}
Tensor lp_pool2d(const Tensor& x, const LPPool2dOptions& o) {
  const Pair& k = o.kernel_size();
  const Tensor means = tandem::avg_pool2d(x.pow(o.norm_type()), k, IntArrayRef(o.stride()), 0, o.ceil_mode());
  return lp_norms("lp_pool2d", means, o.norm_type(), k[0] * k[1]);
}
Tensor lp_pool3d(const Tensor& x, const LPPool3dOptions& o) {
  const Triple& k = o.kernel_size();
  const Tensor means = tandem::avg_pool3d(x.pow(o.norm_type()), k, IntArrayRef(o.stride()), 0, o.ceil_mode());
  return lp_norms("lp_pool3d", means, o.norm_type(), k[0] * k[1] * k[2]);
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& x, const FractionalMaxPool2dOptions& o) {
  const Pair out = fractional_output<Pair>("fractional_max_pool2d", x, o);
  return tandem::fractional_max_pool2d(x, o.kernel_size(), out, samples_of(x, o, 2));
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& x, const FractionalMaxPool3dOptions& o) {
  const Triple out = fractional_output<Triple>("fractional_max_pool3d", x, o);
  return tandem::fractional_max_pool3d(x, o.kernel_size(), out, samples_of(x, o, 3));
}

}  // namespace functional

void FractionalMaxPool2dImpl::reset() {
  check_fraction("FractionalMaxPool2d", options);
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool2d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool2d_with_indices(
      x, FractionalMaxPool2dOptions(options)._random_samples(_random_samples));
}
void FractionalMaxPool3dImpl::reset() {
  check_fraction("FractionalMaxPool3d", options);
  _random_samples = register_buffer("_random_samples", options._random_samples());
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& out) const { out << "FractionalMaxPool3d()"; }
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& x) {
  return functional::fractional_max_pool3d_with_indices(
      x, FractionalMaxPool3dOptions(options)._random_samples(_random_samples));
}

}  // namespace tandem::nn
