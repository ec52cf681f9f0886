// Reordering dimensions: transpose, t, permute, movedim, adjoint, numpy_T, matrix_H; in place: transpose_, t_,
// swapaxes_, swapdims_.
#include "tandem/ops/shape/transpose.h"

#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, adjoint, matrix_H, movedim, numpy_T, permute, t, transpose);

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  return record_view("transpose", core::transpose(*this, a, b), *this,
                     [a, b](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.transpose(a, b)}; });
}
Tensor Tensor::t() const {
  TANDEM_CHECK(dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", dim(), "D, with sizes ", sizes());
  return dim() < 2 ? record_reshape("t", core::alias(*this), *this) : transpose(0, 1);
}
Tensor Tensor::permute(IntArrayRef dims) const {
  Shape inverse(dims.size(), 0);
  Tensor y = core::permute(*this, dims);
  for (size_t d = 0; d < dims.size(); ++d)
    inverse[static_cast<size_t>(wrap_dim("permute", dims[d], dim()))] = static_cast<int64_t>(d);
  return record_view("permute", std::move(y), *this,
                     [inverse](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.permute(inverse)}; });
}
Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination) const {
  TANDEM_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
               " dims) should contain the same number of dims as destination (", destination, " dims)");
  if (dim() == 0) {
    for (size_t i = 0; i < source.size(); ++i) {
      wrap_dim("movedim", source[i], 0);
      wrap_dim("movedim", destination[i], 0);
    }
    return view(IntArrayRef());
  }
  const auto rank = static_cast<size_t>(dim());
  Shape order(rank, -1);
  unsigned moved = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim("movedim", source[i], dim());
    int64_t& to = order[static_cast<size_t>(wrap_dim("movedim", destination[i], dim()))];
    TANDEM_CHECK(!(moved >> from & 1), "movedim: repeated dim in `source` (", source, ")");
    TANDEM_CHECK(to < 0, "movedim: repeated dim in `destination` (", destination, ")");
    to = from;
    moved |= 1u << from;
  }
  int64_t next = 0;
  for (int64_t& position : order) {
    if (position >= 0) continue;
    while (moved >> next & 1) ++next;
    position = next++;
  }
  return permute(order);
}
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
  return movedim(IntArrayRef(source), IntArrayRef(destination));
}
Tensor Tensor::numpy_T() const {
  Shape order;
  for (int64_t d = dim(); d-- > 0;) order.push_back(d);
  return permute(order);
}
Tensor Tensor::adjoint() const {
  TANDEM_CHECK(dim() >= 2, "adjoint() is only supported on matrices or batches of matrices. Got ", dim(),
               "-D tensor, with sizes ", sizes());
  return transpose(-2, -1);
}
Tensor Tensor::matrix_H() const {
  TANDEM_CHECK(dim() == 2, "matrix_H is only supported on matrices (2-D tensors). Got ", dim(),
               "-D tensor, with sizes ", sizes());
  return transpose(0, 1);
}

Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  return apply_inplace_view("transpose_", self(), [&] { return transpose(dim0, dim1); });
}
Tensor& Tensor::swapaxes_(int64_t axis0, int64_t axis1) const { return transpose_(axis0, axis1); }
Tensor& Tensor::swapdims_(int64_t dim0, int64_t dim1) const { return transpose_(dim0, dim1); }
Tensor& Tensor::t_() const {
  return apply_inplace_view("t_", self(), [&] { return t(); });
}

}  // namespace tandem
