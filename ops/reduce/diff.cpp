// Differences of neighbours along a dimension: diff.
#include "tandem/ops/reduce/diff.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, diff);

Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const {
  TANDEM_CHECK(this->dim() > 0, "diff expects input to be at least one-dimensional, got a scalar");
  TANDEM_CHECK(n >= 0, "diff: order must be non-negative but got ", n);
  if (n == 0) return clone();  // if n is 0, prepend, append and dim are ignored
  const int64_t d = wrap_dim("diff", dim, this->dim());
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(*this);
  if (append.defined()) parts.push_back(append);
  Tensor y = parts.size() == 1 ? *this : cat(parts, d);
  for (n = std::min(n, y.size(d)); n > 0; --n) {
    const int64_t left = y.size(d) - 1;
    const Tensor before = y.narrow(d, 0, left), after = y.narrow(d, y.size(d) - left, left);
    y = y.dtype() == kBool ? after.logical_xor(before) : after - before;
  }
  return y;
}

}  // namespace tandem
