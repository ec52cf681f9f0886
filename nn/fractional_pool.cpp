#include "tandem/nn/fractional_pool.h"

#include "tandem/core/internal.h"

namespace tandem::nn {
template class Cloneable<FractionalMaxPool2dImpl>;
template class Cloneable<FractionalMaxPool3dImpl>;

namespace {
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

namespace functional {
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
