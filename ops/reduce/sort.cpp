// Sorting: sort, argsort, topk and kthvalue.
#include "tandem/ops/reduce/sort.h"

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, argsort, kthvalue, sort, topk);

namespace {
/// Calls fill(rows, values, index) for x as rows along dim. fill writes `count` values and their indices for each row.
/// The result is recorded by autograd.
template <class Fill>
std::tuple<Tensor, Tensor> apply_sort(const char* op, const Tensor& x, int64_t dim, int64_t count, Fill fill) {
  Tensor index, values;
  {
    const NoGradGuard guard;
    const Tensor rows = x.transpose(dim, -1).contiguous();
    const int64_t n = rows.size(-1);
    const Tensor flat = core::try_view(rows, {n ? rows.numel() / n : 0, n});
    Tensor y = core::empty({flat.size(0), count}, x.dtype(), x.device());
    Tensor at = core::empty({flat.size(0), count}, kInt64, x.device());
    fill(flat, y, at);
    Shape sizes = rows.sizes();
    sizes.back() = count;
    values = y.view(sizes).transpose(dim, -1).contiguous();
    index = at.view(sizes).transpose(dim, -1).contiguous();
  }
  return {record_op(op, values, {x}, {index},
                    [dim, sizes = Shape(x.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                      return {zeros(sizes, dy.options()).scatter(dim, ctx.saved(0), dy)};
                    }),
          index};
}
}  // namespace
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, Flag descending) const {
  dim = wrap_dim("sort", dim, this->dim());
  if (this->dim() == 0) return {clone(), zeros({}, options().dtype(kInt64))};
  return apply_sort("sort", *this, dim, size(dim), [descending](const Tensor& rows, Tensor& y, Tensor& index) {
    TANDEM_DISPATCH(rows.device(), sort, rows, descending, y, index);
  });
}
Tensor Tensor::argsort(int64_t dim, Flag descending) const {
  const NoGradGuard guard;
  wrap_dim("argsort", dim, this->dim());
  return std::get<1>(sort(dim, descending));
}
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, Flag largest, Flag) const {
  dim = wrap_dim("topk", dim, this->dim());
  TANDEM_CHECK(k >= 0 && k <= (this->dim() ? size(dim) : 1), "topk: selected index k out of range, got ", k,
               " for dimension ", dim, " of ", sizes(), "; accepted: 0 to ", this->dim() ? size(dim) : 1);
  if (this->dim() == 0) return {clone(), zeros({}, options().dtype(kInt64))};
  return apply_sort("topk", *this, dim, k, [largest](const Tensor& rows, Tensor& y, Tensor& index) {
    TANDEM_DISPATCH(rows.device(), topk, rows, largest, y, index);
  });
}
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, Flag keepdim) const {
  const int64_t d = wrap_dim("kthvalue", dim, this->dim()), n = this->dim() ? size(d) : 1;
  TANDEM_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, ", got ", k,
               "; accepted: 1 to ", n);
  const auto [values, index] = sort(d);
  if (this->dim() == 0) return {values, index};
  if (keepdim) return {values.narrow_copy(d, k - 1, 1), index.narrow_copy(d, k - 1, 1)};
  return {values.select(d, k - 1).clone(MemoryFormat::Contiguous),
          index.select(d, k - 1).clone(MemoryFormat::Contiguous)};
}

}  // namespace tandem
