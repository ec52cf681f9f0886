// Quantiles, computed by sorting and interpolating between neighbours: quantile and nanquantile.
#include "tandem/ops/reduce/quantile.h"

#include "tandem/ops/argument.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, nanquantile, quantile);

namespace {
Tensor quantile_impl(const char* op, const Tensor& x, const Tensor& q, std::optional<int64_t> given, bool keepdim,
                     const std::string& interpolation, bool ignore_nan) {
  TANDEM_CHECK(x.dtype() == kFloat32 || x.dtype() == kFloat64, op,
               "() input tensor must be either float or double dtype, got ", x.dtype());
  check_same_dtype_and_device(op, "x", x, "q", q);
  TANDEM_CHECK(q.dim() <= 1, op, "() q must be a scalar or 1D tensor, got ", q.sizes());
  TANDEM_CHECK(!q.is_cpu() || is_graph_recording() || ((q >= 0) & (q <= 1)).all().item<bool>(), op,
               "() q values must be in the range [0, 1], got ", q);
  TANDEM_CHECK(x.numel() > 0, op, "() input tensor must be non-empty, got ", x.sizes());
  const bool known = interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
                     interpolation == "midpoint" || interpolation == "nearest";
  TANDEM_CHECK(known, op, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ",
               interpolation);
  const int64_t d = given ? wrap_dim(op, *given, x.dim()) : 0;
  // the dimension to sort along becomes the last one
  const Tensor rows = given && x.dim() > 0 ? x.movedim(d, -1) : x.reshape({-1});
  const Tensor sorted = std::get<0>(rows.sort(-1)), last = sorted.narrow(-1, sorted.size(-1) - 1, 1);
  Tensor low, high, weight;
  {
    const NoGradGuard guard;
    // Sorted position of the largest element: one number for all rows, or, if NaNs are ignored, one per row.
    Tensor last_place = full({1}, static_cast<double>(sorted.size(-1) - 1), q.options());
    if (ignore_nan) last_place = (sorted.isnan().logical_not().sum(-1, true) - 1).clamp_min(0).to(q.dtype());
    Tensor position = q.detach().reshape({-1}) * last_place;
    if (interpolation == "lower") position = position.floor();
    if (interpolation == "higher") position = position.ceil();
    if (interpolation == "nearest") position = position.round();
    low = position.floor().to(kInt64);
    high = position.ceil().to(kInt64);
    weight = position - position.floor();
    if (interpolation == "midpoint") weight = weight.sign() * 0.5;
  }
  const auto chosen = [&](const Tensor& at) {
    return ignore_nan ? sorted.gather(-1, at) : sorted.index_select(-1, at);
  };
  Tensor y = chosen(low);
  // Only "linear" and "midpoint" interpolate. The other modes return an element unchanged: it may be infinite, and lerp
  // would turn infinity into NaN.
  if (interpolation == "linear" || interpolation == "midpoint") y = y.lerp(chosen(high), weight);
  if (!ignore_nan) y = where(last.isnan(), last, y);
  if (given && x.dim() > 0) {
    y = y.movedim(-1, 0);  // the sizes become (q, ...), where ... are x's sizes without dimension d
    if (keepdim) y = y.unsqueeze(d + 1);
  } else {
    if (keepdim)
      for (int64_t i = 0; i < x.dim(); ++i) y = y.unsqueeze(-1);
  }
  return (q.dim() == 0 ? y.squeeze(0) : y).clone(MemoryFormat::Contiguous);
}
}  // namespace
Tensor Tensor::quantile(const Tensor& q, std::optional<int64_t> dim, Flag keepdim,
                        const std::string& interpolation) const {
  if (const Autocast cast{cast_policy::quantile, *this, q})
    return cast(*this).quantile(cast(q), dim, keepdim, interpolation);
  return quantile_impl("quantile", *this, q, dim, keepdim, interpolation, /*ignore_nan=*/false);
}
Tensor Tensor::nanquantile(const Tensor& q, std::optional<int64_t> dim, Flag keepdim,
                           const std::string& interpolation) const {
  if (const Autocast cast{cast_policy::nanquantile, *this, q})
    return cast(*this).nanquantile(cast(q), dim, keepdim, interpolation);
  return quantile_impl("nanquantile", *this, q, dim, keepdim, interpolation, /*ignore_nan=*/true);
}
Tensor Tensor::nanquantile(double q, std::optional<int64_t> dim, Flag keepdim, const std::string& interpolation) const {
  if (const Autocast cast{cast_policy::nanquantile, *this})
    return cast(*this).nanquantile(q, dim, keepdim, interpolation);
  TANDEM_CHECK(q >= 0 && q <= 1, "nanquantile() q must be in the range [0, 1] but got ", q);
  return nanquantile(full({}, q, options()), dim, keepdim, interpolation);
}
Tensor Tensor::quantile(double q, std::optional<int64_t> dim, Flag keepdim, const std::string& interpolation) const {
  if (const Autocast cast{cast_policy::quantile, *this}) return cast(*this).quantile(q, dim, keepdim, interpolation);
  TANDEM_CHECK(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return quantile(full({}, q, options()), dim, keepdim, interpolation);
}

}  // namespace tandem
