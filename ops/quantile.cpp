// quantile: between which of the ordered elements a fraction of them lies, and how far.
#include "tandem/ops/arrange.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/formula.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/statistics.h"

namespace tandem {

Tensor Tensor::quantile(const Tensor& q, std::optional<int64_t> given, Flag keepdim,
                        const std::string& interpolation) const {
  TANDEM_CHECK(dtype() == kFloat32 || dtype() == kFloat64, "quantile: dtype is ", dtype(),
               "; accepted: float32 and float64");
  TANDEM_CHECK(q.dim() <= 1 && q.dtype() == dtype() && q.device() == device(), "quantile: q is ", q.dtype(), q.sizes(),
               " on ", q.device(), "; accepted: ", dtype(), " of at most one dimension on ", device());
  TANDEM_CHECK(numel() > 0, "quantile: ", sizes(), " has no elements to choose from");
  const bool known = interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
                     interpolation == "midpoint" || interpolation == "nearest";
  TANDEM_CHECK(known, "quantile: interpolation is \"", interpolation,
               "\"; accepted: \"linear\", \"lower\", \"higher\", \"midpoint\" and \"nearest\"");
  const int64_t d = given ? wrap_dim("quantile", *given, dim()) : 0;
  Shape kept = sizes();
  Tensor rows = *this;  // what is ordered comes last
  if (given && dim() > 0) {
    rows = rows.transpose(d, -1), kept[static_cast<size_t>(d)] = 1;
  } else {
    rows = rows.reshape({-1}), kept = Shape(sizes().size(), 1);
  }
  const Tensor sorted = std::get<0>(rows.sort(-1)), last = sorted.narrow(-1, sorted.size(-1) - 1, 1);
  Tensor low, high, way;
  {
    const NoGradGuard guard;
    Tensor place = q.detach().reshape({-1}) * static_cast<double>(sorted.size(-1) - 1);
    if (interpolation == "lower") place = place.floor();
    if (interpolation == "higher") place = place.ceil();
    if (interpolation == "nearest") place = place.round();
    low = place.floor().to(kInt64), high = place.ceil().to(kInt64), way = place - place.floor();
    if (interpolation == "midpoint") way = way.sign() * 0.5;
  }
  Tensor y = sorted.index_select(-1, low).lerp(sorted.index_select(-1, high), way);
  y = tandem::where(last.isnan(), last, y);
  // (..., q) -> (q, ...), with what was ordered along as a dimension of 1 where it is kept
  if (given && dim() > 0) {
    y = y.unsqueeze(-2).movedim(-1, 0);
    y = keepdim ? y.transpose(d + 1, -1) : y.squeeze(-1);
  } else {
    if (keepdim)
      for (int64_t i = 0; i < dim(); ++i) y = y.unsqueeze(-1);
  }
  return (q.dim() == 0 ? y.squeeze(0) : y).clone(MemoryFormat::Contiguous);
}
Tensor Tensor::quantile(double q, std::optional<int64_t> dim, Flag keepdim, const std::string& interpolation) const {
  TANDEM_CHECK(q >= 0 && q <= 1, "quantile: q is ", q, "; accepted: 0 to 1");
  return quantile(full({}, q, options()), dim, keepdim, interpolation);
}

}  // namespace tandem
