// Triangles of matrices: tril, triu, tril_, triu_, tril_indices, triu_indices.
#include "tandem/ops/shape/tril_triu.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, tril, tril_indices, triu, triu_indices);

namespace {
/// Returns a mask of the elements outside a triangle, for matrices with x's last two sizes.
Tensor mask_outside_triangle(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  TANDEM_CHECK(x.dim() >= 2, op, ": input tensor must have at least 2 dimensions, got ", x.sizes());
  const NoGradGuard guard;
  const TensorOptions positions = TensorOptions(kInt64).device(x.device());
  const Tensor row = arange(x.size(-2), positions).unsqueeze(1) + diagonal, column = arange(x.size(-1), positions);
  return lower ? column > row : column < row;
}
}  // namespace
Tensor Tensor::tril(int64_t diagonal) const {
  return masked_fill(mask_outside_triangle("tril", *this, diagonal, true), Scalar(0));
}
Tensor Tensor::triu(int64_t diagonal) const {
  return masked_fill(mask_outside_triangle("triu", *this, diagonal, false), Scalar(0));
}
Tensor& Tensor::tril_(int64_t diagonal) const {
  return masked_fill_(mask_outside_triangle("tril_", self(), diagonal, true), Scalar(0));
}
Tensor& Tensor::triu_(int64_t diagonal) const {
  return masked_fill_(mask_outside_triangle("triu_", self(), diagonal, false), Scalar(0));
}

namespace {
/// Returns the indices of a triangle, row by row. Row `row` has the columns first(row) to last(row) - 1.
template <class First, class Last>
Tensor triangle_indices(const char* op, int64_t rows, const First& first, const Last& last, int64_t columns,
                        const TensorOptions& options) {
  TANDEM_CHECK(rows >= 0, op, ": row must be non-negative, got ", rows);
  TANDEM_CHECK(columns >= 0, op, ": col must be non-negative, got ", columns);
  std::vector<int64_t> positions, columns_of;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = first(r); c < last(r); ++c) {
      positions.push_back(r);
      columns_of.push_back(c);
    }
  }
  const auto count = static_cast<int64_t>(positions.size());
  positions.insert(positions.end(), columns_of.begin(), columns_of.end());
  return tensor(positions, TensorOptions(kInt64)).reshape({2, count}).to(options.dtype(options.dtype_or(kInt64)));
}
}  // namespace
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  const auto from = [](int64_t) { return int64_t{0}; };
  const auto to = [&](int64_t r) { return std::min(col, r + offset + 1); };
  return triangle_indices("tril_indices", row, from, to, col, options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  const auto from = [&](int64_t r) { return std::max<int64_t>(0, r + offset); };
  const auto to = [&](int64_t) { return col; };
  return triangle_indices("triu_indices", row, from, to, col, options);
}

}  // namespace tandem
