// Combinations of the elements of vectors: cartesian_prod, combinations.
#include "tandem/ops/shape/combinations.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/shape/meshgrid.h"

namespace tandem {

TANDEM_CAST_POLICY(none, cartesian_prod, combinations);

Tensor cartesian_prod(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "cartesian_prod expects a non-empty TensorList");
  for (const Tensor& t : tensors)
    TANDEM_CHECK(t.dim() == 1, "cartesian_prod: Expect a 1D vector, but got shape ", t.sizes());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = meshgrid(tensors);
  for (Tensor& c : columns) c = c.reshape({-1});
  return stack(columns, 1);
}
Tensor combinations(const Tensor& x, int64_t r, Flag with_replacement) {
  TANDEM_CHECK(x.dim() == 1, "combinations: Expect a 1D vector, but got shape ", x.sizes());
  TANDEM_CHECK(r >= 0, "combinations: Expect a non-negative number, but got ", r, " for r");
  const int64_t n = x.size(0);
  if (r == 0) return zeros({0}, x.options());
  std::vector<int64_t> rows, row(static_cast<size_t>(r));
  for (size_t k = 0; k < row.size(); ++k) row[k] = with_replacement ? 0 : static_cast<int64_t>(k);
  const auto most = [&](size_t k) { return with_replacement ? n - 1 : n - static_cast<int64_t>(row.size() - k); };
  while (n > 0 && row.back() <= most(row.size() - 1)) {
    rows.insert(rows.end(), row.begin(), row.end());
    size_t k = row.size();
    // moves k so that k - 1 is the last index of the row that can increase
    while (k > 0 && row[k - 1] == most(k - 1)) --k;
    if (k == 0) break;
    ++row[k - 1];
    for (size_t j = k; j < row.size(); ++j) row[j] = row[j - 1] + (with_replacement ? 0 : 1);
  }
  const Tensor positions = tensor(rows, TensorOptions(kInt64)).to(x.device());
  return reshape_result(x.index_select(0, positions), {static_cast<int64_t>(rows.size()) / r, r});
}

}  // namespace tandem
