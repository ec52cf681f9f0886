// Distances and similarities of vectors: dist, cdist, pdist, pairwise_distance, cosine_similarity.
#include "tandem/ops/nn/distance.h"

#include "tandem/ops/argument.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/shape/tril_triu.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, cdist, cosine_similarity, dist, pairwise_distance, pdist);

Tensor Tensor::dist(const Tensor& other, detail::Real order) const {
  if (const Autocast cast{cast_policy::dist, *this, other}) return cast(*this).dist(cast(other), order);
  const double p = order;
  const Operands o = promote_operands("dist", *this, other);
  Tensor y;
  {
    const NoGradGuard guard;
    y = (*this - other).norm(p);
  }
  // Saves the operands and the distance, as in PyTorch, rather than the difference.
  return record_op("dist", y, {o.a, o.b}, {o.a, o.b, y}, [p](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor difference = ctx.saved(0) - ctx.saved(1), y = ctx.saved(2);
    if (p == 0) return {Tensor(), Tensor()};  // the norm of order 0 is a count, so its gradient is 0
    const Tensor dx = norm_backward(p, dy, difference, y);
    return {ctx.needs_grad(0) ? dx : Tensor(), ctx.needs_grad(1) ? -dx : Tensor()};
  });
}
/// Returns the number of non-zero elements of each row, without a graph. Unlike with norm(0), the result is NaN if
/// the row has a NaN.
static Tensor count_nonzero_per_row(const Tensor& rows) {
  const NoGradGuard guard;
  return rows.abs().ceil().clamp_max(1).sum(-1);
}
Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  if (const Autocast cast{cast_policy::cdist, a, b}) return cdist(cast(a), cast(b), p);
  for (const Tensor& each : {a, b}) check_accepted_dtype("cdist", AcceptedDtypes::real, each.dtype());
  TANDEM_CHECK(a.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", a.dim(), "D");
  TANDEM_CHECK(b.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", b.dim(), "D");
  TANDEM_CHECK(a.size(-1) == b.size(-1), "cdist: X1 and X2 must have the same number of columns. X1: ", a.size(-1),
               " X2: ", b.size(-1));
  check_same_dtype("cdist", "a", a, "b", b);
  TANDEM_CHECK(p >= 0, "cdist only supports non-negative p values, got ", p);
  const Tensor difference =
      attach_inputs_to_backward(a, b).unsqueeze(-2) - attach_inputs_to_backward(b, a).unsqueeze(-3);
  if (p != 0 && a.size(-1) > 0) return difference.norm(p, -1);
  const Tensor y = count_nonzero_per_row(difference);  // the norm of an empty row is 0
  return record_op(
      "cdist", y, {a, b}, {},
      [one = Shape(a.sizes()), two = Shape(b.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        const auto flat = [&](IntArrayRef sizes) {
          return ctx.attach_zero_derivative(0, ctx.attach_zero_derivative(1, zeros(sizes, dy.options())));
        };
        return {ctx.needs_grad(0) ? flat(one) : Tensor(), ctx.needs_grad(1) ? flat(two) : Tensor()};
      });
}
Tensor pdist(const Tensor& x, double p) {
  if (const Autocast cast{cast_policy::pdist, x}) return pdist(cast(x), p);
  check_accepted_dtype("pdist", AcceptedDtypes::real, x.dtype());
  TANDEM_CHECK(x.dim() == 2, "pdist only supports 2D tensors, got: ", x.dim(), "D");
  TANDEM_CHECK(p >= 0, "pdist only supports non-negative p values, got ", p);
  const Tensor pairs = triu_indices(x.size(0), x.size(0), 1, TensorOptions(kInt64).device(x.device()));
  const Tensor difference = x.index_select(0, pairs.select(0, 0)) - x.index_select(0, pairs.select(0, 1));
  if (p != 0) return difference.norm(x.size(1) > 0 ? p : 1, -1);
  return record_op("pdist", count_nonzero_per_row(difference), {x}, {x},
                   [](const BackwardContext& ctx, const Tensor&) -> Grads { return {zeros_like(ctx.saved(0))}; });
}
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, Flag keepdim) {
  return (a - b + eps).norm(p, -1, keepdim);
}
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double eps) {
  if (const Autocast cast{cast_policy::cosine_similarity, a, b}) return cosine_similarity(cast(a), cast(b), dim, eps);
  const Shape sizes = promote_operands("cosine_similarity", a, b).sizes;
  const DType type = promote_types(a.dtype(), b.dtype());
  check_accepted_dtype("cosine_similarity", AcceptedDtypes::real, type);
  // Divides each vector by its norm in the vector's own dtype, as in PyTorch. If an operand is 0-dim, its dtype counts
  // only when the quotients are multiplied.
  const auto unit = [&](const Tensor& x) {
    const Tensor v = (x.is_floating_point() ? x : x.to(type)).expand(sizes);
    return v / v.norm(2, dim, true).clamp_min(eps);
  };
  return (unit(a) * unit(b)).sum(dim);
}

}  // namespace tandem
