// Bounds below which singular values count as zero, for pinv and matrix_rank.
#include "tandem/ops/linalg/rank_tolerances.h"

#include <algorithm>

#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/linalg/host_lapack.h"

namespace tandem::detail {

Tolerances make_tolerances(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const auto number = [&](std::optional<double> x) {
    return x ? std::optional<Tensor>(full({}, *x, a.options())) : std::nullopt;
  };
  return {number(atol), number(rtol)};
}
Tensor exceeds_tolerance(const char* op, const Tensor& a, const Tensor& values, const Tolerances& tolerances) {
  const NoGradGuard guard;
  const auto to_tolerance = [&](const Tensor& x) {
    TANDEM_CHECK(x.device() == a.device(), op,
                 ": Expected atol, rtol and input tensors to be on the same device, but got a tolerance on ",
                 x.device(), " and input on ", a.device());
    return x.detach().to(a.dtype());
  };
  const auto given = [](const std::optional<Tensor>& x) { return x && x->defined(); };
  Tensor bound = zeros({}, values.options()), relative;
  if (given(tolerances.atol)) bound = to_tolerance(*tolerances.atol);
  if (given(tolerances.rtol))
    relative = to_tolerance(*tolerances.rtol);
  else if (!given(tolerances.atol))
    relative =
        full({}, machine_epsilon(a.dtype()) * static_cast<double>(std::max(a.size(-1), a.size(-2))), a.options());
  if (relative.defined()) bound = maximum(bound, relative * values.amax({-1}));
  return values > bound.unsqueeze(-1);
}

}  // namespace tandem::detail
