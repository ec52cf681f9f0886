// Cross products: cross, linalg_cross.
#include "tandem/ops/linalg/cross.h"

#include "tandem/core/internal.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/autocast.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, cross, linalg_cross);

Tensor Tensor::cross(const Tensor& other, std::optional<int64_t> dim) const {
  if (const Autocast cast{cast_policy::cross, *this, other}) return cast(*this).cross(cast(other), dim);
  TANDEM_CHECK(this->dim() == other.dim(), "cross: inputs must have the same number of dimensions, got ", this->sizes(),
               " and ", other.sizes());
  check_same_dtype("cross", "x", *this, "other", other);
  const Shape sizes = broadcast_shapes("cross", this->sizes(), other.sizes());
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t d = dim ? wrap_dim("cross", *dim, rank) : 0;
  if (!dim)
    while (d < rank && sizes[static_cast<size_t>(d)] != 3) ++d;
  TANDEM_CHECK(d < rank, "cross: no dimension of size 3 in input, got ", this->sizes(), " and ", other.sizes());
  TANDEM_CHECK(sizes[static_cast<size_t>(d)] == 3, "cross: inputs dimension ", dim.value_or(d),
               " must have length 3. Got ", this->sizes(), " and ", other.sizes());
  const Tensor a = expand(sizes), b = other.expand(sizes);
  return a.roll(-1, d) * b.roll(-2, d) - a.roll(-2, d) * b.roll(-1, d);
}
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim) { return a.cross(b, dim); }

}  // namespace tandem
