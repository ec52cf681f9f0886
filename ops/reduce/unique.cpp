// Unique elements and slices: unique_consecutive, unique_dim, unique_dim_consecutive and _unique2.
#include "tandem/ops/reduce/unique.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/index/nonzero.h"

namespace tandem {
namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

/// Returns (values, inverse, counts) for rows (n, ...): the first row of each run of equal rows, the index of each
/// row's run, and the length of each run. `order` maps indices of rows to indices of x's slices; undefined means that
/// they are the same.
Unique unique_runs(const char* op, const Tensor& rows, const Tensor& order, bool return_inverse, bool return_counts) {
  check_not_recorded(op, "the number of rows depends on the values");
  const NoGradGuard guard;
  const int64_t n = rows.size(0);
  const TensorOptions positions = TensorOptions(kInt64).device(rows.device());
  Tensor starts = zeros({n}, positions.dtype(kBool));
  if (n > 0) {
    Tensor differs = rows.narrow(0, 1, n - 1) != rows.narrow(0, 0, n - 1);
    if (differs.dim() > 1) differs = differs.flatten(1).any(1);
    starts = cat({ones({1}, starts.options()), differs});
  }
  const Tensor first = nonzero(starts).reshape({-1});
  Tensor inverse = zeros({0}, positions), counts = zeros({0}, positions);
  if (return_inverse) {
    inverse = starts.to(kInt64).cumsum(0) - 1;
    if (order.defined()) inverse = zeros({n}, positions).scatter(0, order, inverse);
  }
  if (return_counts) counts = cat({first, full({1}, n, positions)}).diff();
  return {rows.index_select(0, first), inverse, n > 0 ? counts : zeros({0}, positions)};
}
/// Returns unique_runs() of the slices of x along dim. If `sort`, the slices are sorted first.
Unique unique_dim_impl(const char* op, const Tensor& x, int64_t dim, bool sort, bool return_inverse,
                       bool return_counts) {
  TANDEM_CHECK(x.dim() > 0, op, ": Dimension specified as ", dim, " but tensor has no dimensions");
  const NoGradGuard guard;
  const int64_t d = wrap_dim(op, dim, x.dim());
  // Makes one row per slice of x, in x's order.
  Tensor rows = x.detach().movedim(d, 0).contiguous(), order;
  const int64_t each = numel_of(rows.sizes().slice(1, rows.sizes().size() - 1));  // number of elements per slice
  TANDEM_CHECK(each > 0, op,
               ": There are 0 sized dimensions, and they aren't selected, so unique cannot be applied, got ", x.sizes(),
               " and dim ", d);
  // sorts by the last column first and by the first column last, which works because sorting is stable
  if (sort && x.numel() > 0) {
    const Tensor columns = rows.reshape({rows.size(0), -1});
    order = arange(rows.size(0), TensorOptions(kInt64).device(x.device()));
    for (int64_t c = columns.size(1) - 1; c >= 0; --c)
      order = order.index_select(0, columns.select(1, c).index_select(0, order).argsort());
    rows = rows.index_select(0, order);
  }
  const auto [values, inverse, counts] = unique_runs(op, rows, order, return_inverse, return_counts);
  return {values.movedim(0, d).contiguous(), inverse, counts};
}

/// Returns `found` with its values recorded by autograd as a function of x. As in PyTorch, backward throws.
Unique record_not_differentiable(const char* op, const Tensor& x, const Unique& found) {
  const auto& [values, inverse, counts] = found;
  return {record_op(op, values, {x}, {},
                    [op](const BackwardContext&, const Tensor&) -> Grads {
                      throw NotImplementedError(std::string("the derivative for '") + op +
                                                "' is not implemented; detach() its input");
                    }),
          inverse, counts};
}

}  // namespace

Unique unique_dim(const Tensor& x, int64_t dim, Flag, Flag return_inverse, Flag return_counts) {
  return record_not_differentiable("unique_dim", x,
                                   unique_dim_impl("unique_dim", x, dim, true, return_inverse, return_counts));
}
Unique unique_dim_consecutive(const Tensor& x, int64_t dim, Flag return_inverse, Flag return_counts) {
  constexpr const char* kOp = "unique_dim_consecutive";
  return record_not_differentiable(kOp, x, unique_dim_impl(kOp, x, dim, false, return_inverse, return_counts));
}
Unique unique_consecutive(const Tensor& x, Flag return_inverse, Flag return_counts, std::optional<int64_t> dim) {
  constexpr const char* kOp = "unique_consecutive";
  if (dim)
    return record_not_differentiable(kOp, x, unique_dim_impl(kOp, x, *dim, false, return_inverse, return_counts));
  const auto [values, inverse, counts] = unique_runs(kOp, x.detach().reshape({-1}), {}, return_inverse, return_counts);
  return record_not_differentiable(kOp, x, {values, return_inverse ? inverse.reshape(x.sizes()) : inverse, counts});
}
Unique _unique2(const Tensor& x, Flag, Flag return_inverse, Flag return_counts) {
  const auto [sorted, order] = x.detach().reshape({-1}).sort();
  const auto [values, inverse, counts] = unique_runs("_unique2", sorted, order, return_inverse, return_counts);
  return record_not_differentiable("_unique2", x,
                                   {values, return_inverse ? inverse.reshape(x.sizes()) : inverse, counts});
}

}  // namespace tandem
