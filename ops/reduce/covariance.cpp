// Covariances: cov and corrcoef.
#include "tandem/ops/reduce/covariance.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, corrcoef, cov);

Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  TANDEM_CHECK(dim() <= 2 && dtype() != kBool, "cov: x is ", dtype(), sizes(),
               "; accepted: numbers of at most two dimensions");
  const Tensor x = (dim() < 2 ? reshape({1, -1}) : *this).to(is_floating_point() ? dtype() : get_default_dtype());
  const int64_t count = x.size(1);
  for (const Tensor& w : {fweights, aweights})
    TANDEM_CHECK(!w.defined() || (w.dim() == 1 && w.numel() == count), "cov: weights are ",
                 w.defined() ? w.sizes() : IntArrayRef(), " for x of ", sizes(), "; accepted: (", count, ",)");
  TANDEM_CHECK(!fweights.defined() || is_integer(fweights.dtype()), "cov: fweights is ", fweights.dtype(),
               "; accepted: integers");
  TANDEM_CHECK(!aweights.defined() || aweights.is_floating_point(), "cov: aweights is ", aweights.dtype(),
               "; accepted: floating point");
  Tensor weights = fweights.defined() ? fweights.to(x.dtype()) : Tensor();
  if (aweights.defined()) weights = weights.defined() ? weights * aweights : aweights;
  Tensor centered, weighted, total;
  if (weights.defined()) {
    const Tensor sum = weights.sum();
    centered = x - (x * weights).sum(1, true) / sum;
    weighted = centered * weights;
    total = sum - static_cast<double>(correction);
    if (aweights.defined()) total = sum - (weights * aweights).sum() / sum * static_cast<double>(correction);
    total = total.clamp_min(0.0);
  } else {
    centered = x - x.mean(1, true);
    weighted = centered;
    total = full({}, static_cast<double>(std::max<int64_t>(count - correction, 0)), x.options());
  }
  const Tensor y = centered.mm(weighted.t()) / total;
  return y.numel() == 1 ? reshape_result(y, {}) : y;
}
Tensor Tensor::corrcoef() const {
  TANDEM_CHECK(dim() <= 2, "corrcoef: x is ", sizes(), "; accepted: at most two dimensions");
  const Tensor c = cov();
  if (c.dim() == 0) return c.div(c);
  const Tensor deviation = c.diagonal().sqrt();
  return (c / deviation.unsqueeze(1) / deviation).clamp(-1.0, 1.0);
}

}  // namespace tandem
