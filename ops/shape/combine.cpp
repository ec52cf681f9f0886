// Triangles' places, blocks, products and choices of vectors' elements, powers.
#include "tandem/autograd/inplace.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using namespace detail;

namespace {
/// Row by row, the columns of a triangle: from `first(row)` on, before `last(row)`.
template <class First, class Last>
Tensor triangle(const char* op, int64_t rows, const First& first, const Last& last, int64_t columns,
                const TensorOptions& options) {
  TANDEM_CHECK(rows >= 0 && columns >= 0, op, ": ", rows, " rows and ", columns, " columns; neither may be negative");
  std::vector<int64_t> places, across;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = first(r); c < last(r); ++c) places.push_back(r), across.push_back(c);
  const auto count = static_cast<int64_t>(places.size());
  places.insert(places.end(), across.begin(), across.end());
  return tensor(places, TensorOptions(kInt64)).reshape({2, count}).to(options.dtype(options.dtype_or(kInt64)));
}
}  // namespace
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  const auto from = [](int64_t) { return int64_t{0}; };
  const auto to = [&](int64_t r) { return std::min(col, r + offset + 1); };
  return triangle("tril_indices", row, from, to, col, options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  const auto from = [&](int64_t r) { return std::max<int64_t>(0, r + offset); };
  const auto to = [&](int64_t) { return col; };
  return triangle("triu_indices", row, from, to, col, options);
}
Tensor Tensor::diagflat(int64_t offset) const { return reshape({-1}).diag(offset); }
Tensor& Tensor::fill_diagonal_(const Scalar& value, Flag wrap) const {
  TANDEM_CHECK(dim() >= 2, "fill_diagonal_: x is ", sizes(), "; accepted: two dimensions or more");
  int64_t step = 0, length = size(0);
  for (int64_t d = 0; d < dim(); ++d) {
    TANDEM_CHECK(dim() == 2 || size(d) == size(0), "fill_diagonal_: x is ", sizes(),
                 "; accepted: a matrix, or dimensions of one size");
    step += stride(d), length = std::min(length, size(d));
  }
  if (numel() == 0) return self();
  as_strided({length}, {step}).fill_(value);
  if (wrap && dim() == 2)
    for (int64_t row = size(1) + 1; row < size(0); row += size(1) + 1)
      narrow(0, row, size(0) - row).fill_diagonal_(value);
  return self();
}
Tensor block_diag(TensorList tensors) {
  std::vector<Tensor> blocks;
  int64_t columns = 0;
  DType type = tensors.empty() ? get_default_dtype() : tensors[0].dtype();
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.dim() <= 2, "block_diag: a tensor is ", t.sizes(), "; accepted: at most two dimensions");
    TANDEM_CHECK(t.device() == tensors[0].device(), "block_diag: tensors are on ", tensors[0].device(), " and ",
                 t.device(), "; all must be on one device");
    type = promote_types(type, t.dtype());
    blocks.push_back(t.dim() == 2 ? t : t.reshape({1, -1}));
    columns += blocks.back().size(1);
  }
  if (tensors.empty()) return zeros({1, 0});
  int64_t before = 0;
  for (Tensor& b : blocks) {
    const int64_t rows = b.size(0), width = b.size(1);
    const TensorOptions options = b.options().dtype(type);
    b = cat({zeros({rows, before}, options), b.to(type), zeros({rows, columns - before - width}, options)}, 1);
    before += width;
  }
  return cat(blocks, 0);
}
Tensor cartesian_prod(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "cartesian_prod: there are no tensors; accepted: one or more");
  for (const Tensor& t : tensors)
    TANDEM_CHECK(t.dim() == 1, "cartesian_prod: a tensor is ", t.sizes(), "; accepted: one dimension");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = meshgrid(tensors);
  for (Tensor& c : columns) c = c.reshape({-1});
  return stack(columns, 1);
}
Tensor combinations(const Tensor& x, int64_t r, Flag with_replacement) {
  TANDEM_CHECK(x.dim() == 1 && r >= 0, "combinations: x is ", x.sizes(), " and r ", r,
               "; accepted: one dimension, and r of 0 or more");
  const int64_t n = x.size(0);
  if (r == 0) return zeros({0}, x.options());
  std::vector<int64_t> rows, row(static_cast<size_t>(r));
  for (size_t k = 0; k < row.size(); ++k) row[k] = with_replacement ? 0 : static_cast<int64_t>(k);
  const auto most = [&](size_t k) { return with_replacement ? n - 1 : n - static_cast<int64_t>(row.size() - k); };
  while (n > 0 && row.back() <= most(row.size() - 1)) {
    rows.insert(rows.end(), row.begin(), row.end());
    size_t k = row.size();
    while (k > 0 && row[k - 1] == most(k - 1)) --k;  // the last that can go on
    if (k == 0) break;
    ++row[k - 1];
    for (size_t j = k; j < row.size(); ++j) row[j] = row[j - 1] + (with_replacement ? 0 : 1);
  }
  const Tensor places = tensor(rows, TensorOptions(kInt64)).to(x.device());
  return reshape_result(x.index_select(0, places), {static_cast<int64_t>(rows.size()) / r, r});
}
Tensor vander(const Tensor& x, std::optional<int64_t> N, Flag increasing) {
  TANDEM_CHECK(x.dim() == 1, "vander: x is ", x.sizes(), "; accepted: one dimension");
  const int64_t n = N.value_or(x.size(0));
  TANDEM_CHECK(n >= 0, "vander: N is ", n, "; it must not be negative");
  const Tensor base = is_floating_point(x.dtype()) ? x : x.to(kInt64);
  std::vector<Tensor> columns;
  for (int64_t k = 0; k < n; ++k) columns.push_back(k == 0 ? ones_like(base) : columns.back() * base);
  if (columns.empty()) return zeros({x.size(0), 0}, base.options());
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return stack(columns, 1);
}

}  // namespace tandem
