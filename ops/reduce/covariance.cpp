// Covariances: cov and corrcoef.
#include "tandem/ops/reduce/covariance.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, corrcoef, cov);

Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  TANDEM_CHECK(dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with ", dim(),
               " dimensions");
  TANDEM_CHECK(dtype() != kBool, "cov(): bool dtype is not supported for input");
  const Tensor x = (dim() < 2 ? reshape({1, -1}) : *this).to(is_floating_point() ? dtype() : get_default_dtype());
  const int64_t count = x.size(1);
  const auto check_weights = [&](const char* name, const Tensor& w) {
    if (!w.defined()) return;
    TANDEM_CHECK(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name, " with ",
                 w.dim(), " dimensions");
    TANDEM_CHECK(w.dim() == 1 && w.numel() == count, "cov(): expected ", name,
                 " to have the same numel as there are observations in the input but got ", w.numel(), " != ", count);
  };
  check_weights("fweights", fweights);
  check_weights("aweights", aweights);
  TANDEM_CHECK(!fweights.defined() || is_integer(fweights.dtype()),
               "cov(): expected fweights to have integral dtype but got fweights with ", fweights.dtype(), " dtype");
  TANDEM_CHECK(!aweights.defined() || aweights.is_floating_point(),
               "cov(): expected aweights to have floating point dtype but got aweights with ", aweights.dtype(),
               " dtype");
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
  TANDEM_CHECK(dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with ", dim(),
               " dimensions");
  const Tensor c = cov();
  if (c.dim() == 0) return c.div(c);
  const Tensor deviation = c.diagonal().sqrt();
  return (c / deviation.unsqueeze(1) / deviation).clamp(-1.0, 1.0);
}

}  // namespace tandem
