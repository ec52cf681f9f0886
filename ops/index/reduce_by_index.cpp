// Sums, products, means and extremes of the elements that an index assigns to the same position, for scatter_reduce and
// index_reduce.
#include "tandem/ops/index/reduce_by_index.h"

#include "tandem/ops/define_op.h"

namespace tandem {

ScatterReduction detail::parse_scatter_reduction(const char* op, const std::string& name, bool with_sum) {
  if (with_sum && name == "sum") return ScatterReduction::sum;
  if (name == "prod") return ScatterReduction::prod;
  if (name == "mean") return ScatterReduction::mean;
  if (name == "amax") return ScatterReduction::amax;
  if (name == "amin") return ScatterReduction::amin;
  TANDEM_CHECK(with_sum, op, ": Expected reduce to be one of prod, mean, amax or amin but got ", name);
  TANDEM_FAIL(op, ": reduce argument must be either sum, prod, mean, amax or amin, got ", name);
}
void detail::check_reduce_index(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source) {
  bool fits = index.numel() == 0 || (ensure_nonempty_dim(index) == ensure_nonempty_dim(x) &&
                                     ensure_nonempty_dim(source) == ensure_nonempty_dim(x));
  for (int64_t k = 0; fits && index.numel() > 0 && k < ensure_nonempty_dim(x); ++k)
    fits = (k == d || ensure_nonempty_size(index, k) <= ensure_nonempty_size(x, k)) &&
           ensure_nonempty_size(index, k) <= ensure_nonempty_size(source, k);
  check_same_dtype_and_device(op, "x", x, "source", source);
  TANDEM_CHECK(fits, op, ": Expected index ", index.sizes(), " to be no larger than self ", x.sizes(),
               " apart from dimension ", d, " and to be no larger size than src ", source.sizes());
}

namespace {
/// Reduces with `join` all elements of source that index assigns to the same position of x. Positions that get no
/// element are 0 in the result. Elements are sorted by position; then a segmented scan of log2(size) steps joins each
/// element with the earlier elements of its position.
template <class Join>
Tensor segmented_scan(const Tensor& x, int64_t d, const Tensor& index, const Tensor& source, const Join& join) {
  const int64_t n = index.size(d);
  const auto [at, order] = index.sort(d);
  Tensor y = source.gather(d, order);
  for (int64_t reach = 1; reach < n; reach *= 2) {
    const int64_t rest = n - reach;
    const Tensor same = at.narrow(d, 0, rest) == at.narrow(d, reach, rest), here = y.narrow(d, reach, rest);
    y = cat({y.narrow(d, 0, reach), where(same, join(y.narrow(d, 0, rest), here), here)}, d);
  }
  if (n > 1) {  // keeps only the last element of each position, which holds the full result
    const Tensor last = at.narrow(d, 0, n - 1) != at.narrow(d, 1, n - 1);
    y = cat({where(last, y.narrow(d, 0, n - 1), zeros({}, y.options())), y.narrow(d, n - 1, 1)}, d);
  }
  return zeros(x.sizes(), y.options()).scatter_add(d, at, y);
}

/// Counts the elements of source that index assigns to each position of x.
Tensor count_per_index(const Tensor& x, int64_t d, const Tensor& index, DType dtype) {
  const TensorOptions options = TensorOptions(dtype).device(x.device());
  return zeros(x.sizes(), options).scatter_add(d, index, ones(index.sizes(), options));
}
Tensor scatter_mean(const Tensor& x, int64_t d, const Tensor& index, const Tensor& source, bool include_self,
                    const Tensor& hit) {
  if (is_reduced_floating_point(x.dtype()))  // computed in float32, because the sum may overflow a half type
    return scatter_mean(x.to(kFloat32), d, index, source.to(kFloat32), include_self, hit).to(x.dtype());
  const Tensor sum = (include_self ? x : x.masked_fill(hit, Scalar(0))).scatter_add(d, index, source);
  const Tensor count = count_per_index(x, d, index, x.is_floating_point() ? x.dtype() : kInt64);
  const Tensor all = include_self ? count + 1 : count.clamp_min(1);
  return x.is_floating_point() ? sum / all : sum.floor_divide(all).to(x.dtype());
}

/// Computes the maximum or minimum. All elements equal to the extreme share the gradient evenly. As in PyTorch, an
/// element of x equal to the extreme counts in this division even if include_self is false, and its share is lost. If a
/// NaN takes part, which equals nothing, the gradients are NaN.
Tensor scatter_amax_amin(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source,
                         bool largest, bool include_self, const Tensor& hit) {
  Tensor y;
  {
    const NoGradGuard guard;
    const auto join = [largest](const Tensor& a, const Tensor& b) { return largest ? a.maximum(b) : a.minimum(b); };
    const Tensor found = segmented_scan(x, d, index, source, join);
    y = where(hit, include_self ? join(x, found) : found, x);
  }
  return record_op(op, y, {x, source}, {x, index, source, y, hit},
                   [d, include_self](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor x = ctx.saved(0), index = ctx.saved(1), source = ctx.saved(2), y = ctx.saved(3);
                     const Tensor hit = ctx.saved(4);
                     const Tensor own = ((x == y) | hit.logical_not()).to(dy.dtype());
                     const Tensor at = (source == y.gather(d, index)).to(dy.dtype());
                     const Tensor share = dy / own.scatter_add(d, index, at);
                     Tensor dx = share * own;
                     if (!include_self) dx = dx.masked_fill(hit, Scalar(0));
                     return {dx, share.gather(d, index) * at};
                   });
}
}  // namespace
Tensor detail::reduce_by_index(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source,
                               ScatterReduction how, bool include_self) {
  if (index.numel() == 0)
    return record_op(op, x.detach().clone(MemoryFormat::Contiguous), {x, source}, {},
                     [how, sizes = Shape(source.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                       const auto flat = [&](const Tensor& dx) {
                         return how == ScatterReduction::prod
                                    ? ctx.attach_zero_derivative(0, ctx.attach_zero_derivative(1, dx))
                                    : dx;
                       };
                       return {flat(how == ScatterReduction::sum ? dy : dy.clone()),
                               ctx.needs_grad(1) ? flat(zeros(sizes, dy.options())) : Tensor()};
                     });
  if (x.dim() == 0)
    return reduce_by_index(op, x.reshape({1}), 0, index.reshape({-1}), source.reshape({-1}), how, include_self)
        .reshape({});
  if (x.dtype() == kBool)  // bool is reduced like the integers 0 and 1
    return reduce_by_index(op, x.to(kUInt8), d, index, source.to(kUInt8), how, include_self).to(kBool);
  Tensor from = source;
  for (int64_t k = 0; k < x.dim(); ++k)
    if (source.size(k) != index.size(k)) from = from.narrow(k, 0, index.size(k));
  Tensor hit;
  {
    const NoGradGuard guard;
    const TensorOptions options = TensorOptions(kBool).device(x.device());
    hit = zeros(x.sizes(), options).scatter(d, index, ones(index.sizes(), options));
  }
  switch (how) {
    case ScatterReduction::sum: return (include_self ? x : x.masked_fill(hit, Scalar(0))).scatter_add(d, index, from);
    case ScatterReduction::mean: return scatter_mean(x, d, index, from, include_self, hit);
    case ScatterReduction::prod: {
      const Tensor own = attach_inputs_to_backward(x, from), parts = attach_inputs_to_backward(from, x);
      const Tensor product = segmented_scan(x, d, index, parts, [](const Tensor& a, const Tensor& b) { return a * b; });
      return where(hit, include_self ? own * product : product, own);
    }
    default: return scatter_amax_amin(op, x, d, index, from, how == ScatterReduction::amax, include_self, hit);
  }
}

}  // namespace tandem
