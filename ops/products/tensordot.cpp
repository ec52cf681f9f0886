// Sums of products along pairs of dimensions: tensordot.
#include "tandem/ops/products/tensordot.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, tensordot);

Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b) {
  if (const Autocast cast{cast_policy::tensordot, a, b}) return tensordot(cast(a), cast(b), dims_a, dims_b);
  check_product_operands("tensordot", a, b);
  TANDEM_CHECK(dims_a.size() == dims_b.size(), "tensordot: both dimension lists should have same length, but are ",
               dims_a, " and ", dims_b);
  Tensor left = a, right = b;
  std::vector<int64_t> summed_a, summed_b;
  unsigned mask_a = 0, mask_b = 0;
  int64_t inner = 1;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t p = wrap_dim("tensordot", dims_a[i], a.dim()), q = wrap_dim("tensordot", dims_b[i], b.dim());
    TANDEM_CHECK(!(mask_a >> p & 1) && !(mask_b >> q & 1), "tensordot: dim ", mask_a >> p & 1 ? p : q,
                 " appears multiple times in the list of dims ", mask_a >> p & 1 ? dims_a : dims_b);
    const int64_t m = left.size(p), n = right.size(q);
    TANDEM_CHECK(m == n || m == 1 || n == 1, "tensordot: contracted dimensions need to match, but first has size ", m,
                 " in dim ", p, " and second has size ", n, " in dim ", q);
    if (m == 1 && n != 1) right = right.sum(q, true);
    if (n == 1 && m != 1) left = left.sum(p, true);
    inner *= m == 1 || n == 1 ? 1 : m;
    mask_a |= 1u << p;
    mask_b |= 1u << q;
    summed_a.push_back(p);
    summed_b.push_back(q);
  }
  std::vector<int64_t> order_a, order_b = summed_b, sizes;
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (mask_a >> d & 1) continue;
    order_a.push_back(d);
    sizes.push_back(a.size(d));
  }
  const int64_t rows = numel_of(sizes);
  for (int64_t d = 0; d < b.dim(); ++d) {
    if (mask_b >> d & 1) continue;
    order_b.push_back(d);
    sizes.push_back(b.size(d));
  }
  const int64_t columns = numel_of(IntArrayRef(sizes).slice(order_a.size(), sizes.size() - order_a.size()));
  order_a.insert(order_a.end(), summed_a.begin(), summed_a.end());
  return reshape_result(
      left.permute(order_a).reshape({rows, inner}).mm(right.permute(order_b).reshape({inner, columns})), sizes);
}

}  // namespace tandem
