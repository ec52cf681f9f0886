// Implements layer, group, RMS and local response norm, and the normalisation of vectors.
#include "tandem/nn/normalization.h"

#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

TANDEM_DEFINE_PRETTY_PRINT(LocalResponseNorm, options.size() << ", alpha=" << to_python_string(options.alpha())
                                                             << ", beta=" << to_python_string(options.beta())
                                                             << ", k=" << to_python_string(options.k()))
TANDEM_DEFINE_PRETTY_PRINT(CrossMapLRN2d, options.size() << ", alpha=" << to_python_string(options.alpha()) << ", beta="
                                                         << to_python_string(options.beta()) << ", k=" << options.k())
template class Cloneable<LayerNormImpl>;
template class Cloneable<GroupNormImpl>;
template class Cloneable<RMSNormImpl>;

void LayerNormImpl::reset() {
  if (!options.elementwise_affine()) return;
  weight = register_parameter("weight", ones(options.normalized_shape()));
  bias = register_parameter("bias", zeros(options.normalized_shape()));
}
void LayerNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << "LayerNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=" << to_python_string(options.eps())
      << ", elementwise_affine=" << to_python_string(options.elementwise_affine())
      << ", bias=" << to_python_string(options.elementwise_affine()) << ")";
}

void GroupNormImpl::reset() {
  const int64_t n = options.num_channels();
  TANDEM_CHECK(options.num_groups() > 0 && n > 0 && n % options.num_groups() == 0, "GroupNorm: num_channels (", n,
               ") must be divisible by num_groups (", options.num_groups(), "), and both must be positive");
  if (!options.affine()) return;
  weight = register_parameter("weight", ones({n}));
  bias = register_parameter("bias", zeros({n}));
}
void GroupNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void GroupNormImpl::pretty_print(std::ostream& out) const {
  out << "GroupNorm(" << options.num_groups() << ", " << options.num_channels()
      << ", eps=" << to_python_string(options.eps()) << ", affine=" << to_python_string(options.affine())
      << ", bias=" << to_python_string(options.affine()) << ")";
}

void RMSNormImpl::reset() {
  if (options.elementwise_affine()) weight = register_parameter("weight", ones(options.normalized_shape()));
}
void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}
void RMSNormImpl::pretty_print(std::ostream& out) const {
  out << "RMSNorm(" << IntArrayRef(options.normalized_shape())
      << ", eps=" << (options.eps() ? to_python_string(*options.eps()) : "None")
      << ", elementwise_affine=" << to_python_string(options.elementwise_affine()) << ")";
}

Tensor CrossMapLRN2dImpl::forward(const Tensor& x) {
  TANDEM_CHECK(x.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", x.dim(), "D instead; x is ", x.sizes(),
               ", accepted: (N, C, H, W)");
  TANDEM_CHECK(options.size() > 0, "CrossMapLRN2d: size is ", options.size(), "; it must be positive");
  if (x.numel() == 0) return x.clone();
  const int64_t half_window = (options.size() - 1) / 2, window = 2 * half_window + 1,
                num_trailing = x.size(1) - half_window - 1;
  const Tensor padded = constant_pad_nd(x.square().flatten(2), {0, 0, half_window, half_window});
  const Tensor means = tandem::avg_pool2d(padded.unsqueeze(1), {window, 1}, 1).squeeze(1);
  Tensor sums = means.reshape(x.sizes()) * static_cast<double>(window);
  if (num_trailing > 0)
    sums = tandem::cat({sums.narrow(1, 0, half_window + 1),
                        sums.narrow(1, half_window + 1, num_trailing) + x.narrow(1, 0, 1).square()},
                       1);
  const double share = options.alpha() / static_cast<double>(options.size());
  return x * (sums * share + static_cast<double>(options.k())).pow(-options.beta());
}

namespace functional {

Tensor local_response_norm(const Tensor& x, const LocalResponseNormOptions& o) {
  TANDEM_CHECK(x.dim() >= 3, "local_response_norm: Expected 3D or higher dimensionality input (got ", x.dim(),
               " dimensions); x is ", x.sizes());
  TANDEM_CHECK(o.size() > 0, "local_response_norm: size is ", o.size(), "; it must be positive");
  if (x.numel() == 0) return x.clone();
  // Treats the channels as the height of an image, over which a pooling window slides.
  const Tensor squares = constant_pad_nd(x.square().flatten(2), {0, 0, o.size() / 2, (o.size() - 1) / 2});
  const Tensor means = tandem::avg_pool2d(squares.unsqueeze(1), {o.size(), 1}, 1).squeeze(1).reshape(x.sizes());
  return x / (means * o.alpha() + o.k()).pow(o.beta());
}
Tensor normalize(const Tensor& x, const NormalizeFuncOptions& o) {
  return x / x.norm(o.p(), {o.dim()}, true).clamp_min(o.eps());
}

}  // namespace functional

}  // namespace tandem::nn
