// index_fill and index_fill_: set the slices whose positions a 1-d index lists to one number.
#include "tandem/ops/index/index_fill.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/index/index_checks.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index_fill);

namespace {
/// Returns a bool mask that broadcasts to x and is true for the slices along dim whose positions `index` lists.
Tensor make_index_mask(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  const NoGradGuard guard;
  const int64_t d = wrap_dim(op, dim, x.dim()), n = ensure_nonempty_size(x, d);
  TANDEM_CHECK(index.dim() <= 1, op, ": Index has to be a vector/scalar, got ", index.sizes());
  const Tensor positions = wrap_negative_indices(check_and_convert_index(op, x, index), n).reshape({-1});
  const TensorOptions options = TensorOptions(kBool).device(x.device());
  const Tensor hit = zeros({n}, options).scatter(0, positions, ones(positions.sizes(), options));
  Shape column(static_cast<size_t>(x.dim()), 1);
  if (x.dim() > 0) column[static_cast<size_t>(d)] = n;
  return hit.reshape(column);
}
}  // namespace
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  check_representable("index_fill", dtype(), value);
  return tandem::where(make_index_mask("index_fill", *this, dim, index),
                       wrapped_scalar_tensor(device(), value, dtype()), *this);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "index_fill only supports a 0-dimensional value tensor, but got tensor with ",
               value.dim(), " dimension(s)");
  return tandem::where(make_index_mask("index_fill", *this, dim, index),
                       move_scalar_to_device(value, device()).to(dtype()), *this);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return masked_fill_(make_index_mask("index_fill_", self(), dim, index), value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  return masked_fill_(make_index_mask("index_fill_", self(), dim, index), value);
}

}  // namespace tandem
