// Kronecker products: kron.
#include "tandem/ops/products/kron.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, kron);

Tensor Tensor::kron(const Tensor& other) const {
  const int64_t rank = std::max(dim(), other.dim());
  TANDEM_CHECK(2 * rank <= kMaxDims, "kron: self is ", sizes(), " and other is ", other.sizes(), "; accepted: at most ",
               kMaxDims / 2, " dimensions");
  Shape left, right, out;
  for (int64_t d = 0; d < rank; ++d) {
    const auto size_in = [&](const Tensor& x) { return d < rank - x.dim() ? 1 : x.size(d - rank + x.dim()); };
    const int64_t a = size_in(*this), b = size_in(other);
    left.push_back(a);
    left.push_back(1);
    right.push_back(1);
    right.push_back(b);
    out.push_back(a * b);
  }
  return reshape_result((reshape(left) * other.reshape(right)).contiguous(), out);
}

}  // namespace tandem
