// Diagonals: diagonal, diag, diagflat, diag_embed, trace, fill_diagonal_, block_diag.
#include "tandem/ops/shape/diagonal.h"

#include <algorithm>

#include "tandem/ops/define_op.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, trace);
TANDEM_CAST_POLICY(none, block_diag, diag, diag_embed, diagflat, diagonal, linalg_diagonal);

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  const int64_t a = wrap_dim("diagonal", dim1, dim()), b = wrap_dim("diagonal", dim2, dim());
  TANDEM_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const int64_t rows = size(a) - std::max<int64_t>(-offset, 0), columns = size(b) - std::max<int64_t>(offset, 0);
  const int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  int64_t first = storage_offset();
  if (length > 0) first += offset >= 0 ? offset * stride(b) : -offset * stride(a);
  Shape out, steps;
  for (int64_t d = 0; d < dim(); ++d) {
    if (d == a || d == b) continue;
    out.push_back(size(d));
    steps.push_back(stride(d));
  }
  out.push_back(length);
  steps.push_back(stride(a) + stride(b));
  return record_view("diagonal", core::as_strided(*this, out, steps, first), *this,
                     [=, sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.diagonal(offset, a, b).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  const int64_t a = wrap_dim("diag_embed", dim1, dim() + 1), b = wrap_dim("diag_embed", dim2, dim() + 1);
  TANDEM_CHECK(a != b, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  Shape sizes = this->sizes();
  const int64_t n = sizes.back() + std::abs(offset);
  sizes.erase(sizes.size() - 1);
  sizes.insert(static_cast<size_t>(std::min(a, b)), n);
  sizes.insert(static_cast<size_t>(std::max(a, b)), n);
  const Tensor y = zeros(sizes, options());
  {
    const NoGradGuard guard;
    y.diagonal(offset, a, b).copy_(*this);
  }
  return record_op("diag_embed", y, {*this}, {},
                   [=](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.diagonal(offset, a, b)}; });
}
Tensor Tensor::diag(int64_t offset) const {
  TANDEM_CHECK(dim() == 1 || dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", dim(), "D, with sizes ", sizes());
  return dim() == 1 ? diag_embed(offset) : diagonal(offset).clone(MemoryFormat::Contiguous);
}
Tensor Tensor::diagflat(int64_t offset) const { return reshape({-1}).diag(offset); }
Tensor Tensor::trace() const {
  if (const Autocast cast{cast_policy::trace, *this}) return cast(*this).trace();
  TANDEM_CHECK(dim() == 2, "trace: expected a matrix, but got tensor with dim ", dim(), " and sizes ", sizes());
  return diagonal().sum();
}
Tensor& Tensor::fill_diagonal_(const Scalar& value, Flag wrap) const {
  TANDEM_CHECK(dim() >= 2, "fill_diagonal_: dimensions must larger than 1, got sizes ", sizes());
  int64_t step = 0, length = size(0);
  for (int64_t d = 0; d < dim(); ++d) {
    TANDEM_CHECK(dim() == 2 || size(d) == size(0),
                 "fill_diagonal_: all dimensions of input must be of equal length, got ", sizes(),
                 "; only a matrix may have two lengths");
    step += stride(d);
    length = std::min(length, size(d));
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
    TANDEM_CHECK(t.dim() <= 2, "block_diag: Input tensors must have 2 or fewer dimensions. Input ", blocks.size(),
                 " has ", t.dim(), " dimensions");
    TANDEM_CHECK(t.device() == tensors[0].device(),
                 "block_diag: Input tensors must all be on the same device. Input 0 is on device ", tensors[0].device(),
                 " and input ", blocks.size(), " is on device ", t.device());
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
Tensor linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return a.diagonal(offset, dim1, dim2);
}

}  // namespace tandem
