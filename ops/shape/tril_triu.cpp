// Triangles of matrices: tril, triu, tril_, triu_, tril_indices, triu_indices.
#include "tandem/ops/shape/tril_triu.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, tril, tril_indices, triu, triu_indices);

namespace {
/// Returns a mask of the elements outside a triangle, for matrices with x's last two sizes.
Tensor outside(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  TANDEM_CHECK(x.dim() >= 2, op, ": input tensor must have at least 2 dimensions, got ", x.sizes());
  const NoGradGuard guard;
  const TensorOptions places = TensorOptions(kInt64).device(x.device());
  const Tensor row = arange(x.size(-2), places).unsqueeze(1) + diagonal, column = arange(x.size(-1), places);
  return lower ? column > row : column < row;
}
}  // namespace
Tensor Tensor::tril(int64_t diagonal) const { return masked_fill(outside("tril", *this, diagonal, true), Scalar(0)); }
Tensor Tensor::triu(int64_t diagonal) const { return masked_fill(outside("triu", *this, diagonal, false), Scalar(0)); }
Tensor& Tensor::tril_(int64_t diagonal) const {
  return masked_fill_(outside("tril_", self(), diagonal, true), Scalar(0));
}
Tensor& Tensor::triu_(int64_t diagonal) const {
  return masked_fill_(outside("triu_", self(), diagonal, false), Scalar(0));
}

namespace {
/// Returns the indices of a triangle, row by row: columns first(row) to last(row) - 1.
template <class First, class Last>
Tensor triangle(const char* op, int64_t rows, const First& first, const Last& last, int64_t columns,
                const TensorOptions& options) {
  TANDEM_CHECK(rows >= 0, op, ": row must be non-negative, got ", rows);
  TANDEM_CHECK(columns >= 0, op, ": col must be non-negative, got ", columns);
  std::vector<int64_t> places, across;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = first(r); c < last(r); ++c) {
      places.push_back(r);
      across.push_back(c);
    }
  }
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

}  // namespace tandem
