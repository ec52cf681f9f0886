// Dropout: dropout, dropout2d, feature_dropout, alpha_dropout, feature_alpha_dropout, native_dropout.
#include "tandem/ops/nn/dropout.h"

#include <cmath>

#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/random/reserve_random_numbers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, alpha_dropout, dropout, dropout2d, feature_alpha_dropout, native_dropout);

using detail::check_floating_point;

Tensor dropout(const Tensor& x, double p, Flag training) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout: dropout probability has to be between 0 and 1, but got ", p,
               "; 0 and 1 are accepted");
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, x.options());
  check_floating_point("dropout", x);
  const double scale = 1 / (1 - p);
  Tensor y, mask;
  const detail::RandomReservation draw = detail::reserve_random_numbers(x.device(), x.numel());
  if (x.is_contiguous()) {
    y = core::empty(x.sizes(), x.dtype(), x.device());
    mask = core::empty(x.sizes(), kBool, x.device());
    TANDEM_DISPATCH(x.device(), dropout, x, 1 - p, scale, draw.state, draw.offset, y, mask);
  } else {  // if x is not contiguous, draws the same numbers as the fused kernel, in logical order
    const NoGradGuard guard;
    mask = core::empty_like(x, kBool, x.device());
    TANDEM_DISPATCH(x.device(), bernoulli, 1 - p, draw.state, draw.offset, mask);
    y = where(mask, x * scale, Scalar(0));
  }
  return record_op("dropout", y, {x}, {mask}, [scale](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor mask = ctx.saved(0);
    if (!dy.is_cuda() || is_grad_enabled() || !dy.is_contiguous() || !mask.is_contiguous())
      return {where(mask, dy * scale, Scalar(0))};
    Tensor dx = core::empty(dy.sizes(), dy.dtype(), dy.device());
    TANDEM_DISPATCH_CUDA(dy.device(), dropout_backward, dy, mask, scale, dx);
    return {dx};
  });
}
std::tuple<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train) {
  TANDEM_CHECK(p >= 0 && p <= 1, "native_dropout: dropout probability has to be between 0 and 1, but got ", p,
               "; 0 and 1 are accepted");
  if (!train.value_or(true) || p == 0) return {x.clone(), ones(x.sizes(), x.options().dtype(kBool))};
  const Tensor mask = empty_like(x, x.options().dtype(kBool).requires_grad(false)).bernoulli_(1 - p);
  return {where(mask, x * (p < 1 ? 1 / (1 - p) : 0.0), Scalar(0)), mask};
}
Tensor dropout2d(const Tensor& x, double p, Flag training) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout2d: dropout probability has to be between 0 and 1, but got ", p,
               "; 0 and 1 are accepted");
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, x.options());
  check_floating_point("dropout2d", x);
  TANDEM_CHECK(x.dim() >= 2, "dropout2d: Feature dropout requires at least 2 dimensions in the input, but x is ",
               x.sizes());
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[0] = x.size(0);
  sizes[1] = x.size(1);
  return x * dropout(ones(sizes, x.options()), p, true);
}

/// Applies alpha dropout. `sizes` are the sizes of the noise, which broadcasts to x.
static Tensor apply_alpha_dropout(const char* op, const Tensor& x, double p, bool training, IntArrayRef sizes) {
  TANDEM_CHECK(p >= 0 && p <= 1, op, ": dropout probability has to be between 0 and 1, but got ", p,
               "; 0 and 1 are accepted");
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, x.options());
  check_floating_point(op, x);
  // SELU's scale times its alpha, which is the negative of SELU's lowest value
  constexpr double kLowest = 1.7580993408473766;
  const double scale = 1 / std::sqrt((kLowest * kLowest * p + 1) * (1 - p));
  const Tensor kept = empty(sizes, x.options()).bernoulli_(1 - p);
  return x * (kept * scale) + ((kept - 1) * (kLowest * scale) + kLowest * scale * p);
}
Tensor alpha_dropout(const Tensor& x, double p, Flag training) {
  return apply_alpha_dropout("alpha_dropout", x, p, training, x.sizes());
}
Tensor feature_alpha_dropout(const Tensor& x, double p, Flag training) {
  TANDEM_CHECK(x.dim() >= 2 || !training || p == 0 || p == 1,
               "feature_alpha_dropout: Feature dropout requires at least 2 dimensions in the input, but x is ",
               x.sizes());
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  for (size_t d = 0; d < sizes.size() && d < 2; ++d) sizes[d] = x.sizes()[d];
  return apply_alpha_dropout("feature_alpha_dropout", x, p, training, sizes);
}

namespace {
using DropoutOp = Tensor (*)(const Tensor&, double, Flag);
Tensor& dropout_inplace(const char* name, DropoutOp op, Tensor& x, double p, Flag training) {
  if (!training || p == 0) return x;
  return autograd::run_inplace(
      name, x, {}, [&] { copy_elements(op(x.detach(), p, training), x); },
      [&](const Tensor& old) { return op(old.clone(), p, training); });
}
}  // namespace
Tensor& dropout_(Tensor& x, double p, Flag training) { return dropout_inplace("dropout_", dropout, x, p, training); }
Tensor& feature_dropout_(Tensor& x, double p, Flag training) {
  return dropout_inplace("feature_dropout_", feature_dropout, x, p, training);
}
Tensor& alpha_dropout_(Tensor& x, double p, Flag training) {
  return dropout_inplace("alpha_dropout_", alpha_dropout, x, p, training);
}
Tensor& feature_alpha_dropout_(Tensor& x, double p, Flag training) {
  return dropout_inplace("feature_alpha_dropout_", feature_alpha_dropout, x, p, training);
}

Tensor detail::dropout_channels(Tensor x, int64_t batched, double p, bool training, bool inplace) {
  if (x.dim() == batched) return inplace ? feature_dropout_(x, p, training) : feature_dropout(x, p, training);
  Tensor one = x.unsqueeze(0);
  if (!inplace) return feature_dropout(one, p, training).squeeze(0);
  feature_dropout_(one, p, training);  // `one` is a view of x, so this call changes x
  return x;
}

}  // namespace tandem
