// Bounds below which singular values count as zero, for pinv and matrix_rank.
#include "tandem/ops/linalg/rank_bounds.h"

#include <algorithm>

#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/linalg/host_lapack.h"

namespace tandem::detail {

Bounds bounds_of(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const auto number = [&](std::optional<double> x) {
    return x ? std::optional<Tensor>(full({}, *x, a.options())) : std::nullopt;
  };
  return {number(atol), number(rtol)};
}
Tensor counting(const char* op, const Tensor& a, const Tensor& values, const Bounds& bounds) {
  const NoGradGuard guard;
  const auto prepare = [&](const Tensor& x) {
    TANDEM_CHECK(x.device() == a.device(), op,
                 ": Expected atol, rtol and input tensors to be on the same device, but got a tolerance on ",
                 x.device(), " and input on ", a.device());
    return x.detach().to(a.dtype());
  };
  const auto given = [](const std::optional<Tensor>& x) { return x && x->defined(); };
  Tensor bound = zeros({}, values.options()), relative;
  if (given(bounds.atol)) bound = prepare(*bounds.atol);
  if (given(bounds.rtol))
    relative = prepare(*bounds.rtol);
  else if (!given(bounds.atol))
    relative = full({}, precision(a.dtype()) * static_cast<double>(std::max(a.size(-1), a.size(-2))), a.options());
  if (relative.defined()) bound = maximum(bound, relative * values.amax({-1}));
  return values > bound.unsqueeze(-1);
}

}  // namespace tandem::detail
