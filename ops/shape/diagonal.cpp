// Diagonals: views of them, matrices made of them, triangles, the trace.
#include "tandem/autograd/record.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  TANDEM_CHECK(dim() >= 2, "diagonal: x is ", sizes(), "; accepted: two dimensions or more");
  const int64_t a = wrap_dim("diagonal", dim1, dim()), b = wrap_dim("diagonal", dim2, dim());
  TANDEM_CHECK(a != b, "diagonal: dim1 and dim2 are both ", a, "; accepted: two different dimensions");
  const int64_t rows = size(a) - std::max<int64_t>(-offset, 0), columns = size(b) - std::max<int64_t>(offset, 0);
  const int64_t length = std::max<int64_t>(std::min(rows, columns), 0);
  int64_t first = storage_offset();
  if (length > 0) first += offset >= 0 ? offset * stride(b) : -offset * stride(a);
  Shape out, steps;
  for (int64_t d = 0; d < dim(); ++d)
    if (d != a && d != b) out.push_back(size(d)), steps.push_back(stride(d));
  out.push_back(length), steps.push_back(stride(a) + stride(b));
  return record_view("diagonal", core::as_strided(*this, out, steps, first), *this,
                     [=, sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.diagonal(offset, a, b).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  TANDEM_CHECK(dim() >= 1, "diag_embed: x is a scalar; accepted: one dimension or more");
  const int64_t a = wrap_dim("diag_embed", dim1, dim() + 1), b = wrap_dim("diag_embed", dim2, dim() + 1);
  TANDEM_CHECK(a != b, "diag_embed: dim1 and dim2 are both ", a, "; accepted: two different dimensions");
  Shape sizes = this->sizes();
  const int64_t n = sizes.back() + std::abs(offset);
  sizes.erase(sizes.size() - 1);
  sizes.insert(static_cast<size_t>(std::min(a, b)), n), sizes.insert(static_cast<size_t>(std::max(a, b)), n);
  const Tensor y = zeros(sizes, options());
  {
    const NoGradGuard guard;
    y.diagonal(offset, a, b).copy_(*this);
  }
  return record("diag_embed", y, {*this}, {},
                [=](const Context&, const Tensor& dy) -> Grads { return {dy.diagonal(offset, a, b)}; });
}
Tensor Tensor::diag(int64_t offset) const {
  TANDEM_CHECK(dim() == 1 || dim() == 2, "diag: x is ", sizes(), "; accepted: a vector or a matrix");
  return dim() == 1 ? diag_embed(offset) : diagonal(offset).clone(MemoryFormat::Contiguous);
}
Tensor Tensor::trace() const {
  TANDEM_CHECK(dim() == 2, "trace: x is ", sizes(), "; accepted: a matrix");
  return diagonal().sum();
}

namespace {
/// Where a matrix of x's last two sizes is outside of a triangle.
Tensor outside(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  TANDEM_CHECK(x.dim() >= 2, op, ": x is ", x.sizes(), "; accepted: two dimensions or more");
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

}  // namespace tandem
