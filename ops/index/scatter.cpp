// scatter and scatter_add, also in place: write or add elements along a dimension at the positions that an index names.
#include "tandem/ops/index/scatter.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, scatter_add);
TANDEM_CAST_POLICY(none, scatter);

namespace {
Tensor scatter_copy(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  const NoGradGuard guard;
  const Tensor out = x.clone(MemoryFormat::Contiguous);
  scatter_into(op, out, dim, index, source, add);
  return out;
}
/// Narrows source to the sizes of index and returns it in index's shape.
Tensor narrow_source_to_index(const char* op, const Tensor& x, const Tensor& index, Tensor source) {
  bool fits = index.numel() == 0 || ensure_nonempty_dim(source) == ensure_nonempty_dim(index);
  for (int64_t d = 0; fits && index.numel() > 0 && d < ensure_nonempty_dim(index); ++d) {
    fits = ensure_nonempty_size(source, d) >= ensure_nonempty_size(index, d);
    if (fits && ensure_nonempty_size(source, d) > ensure_nonempty_size(index, d))
      source = source.narrow(d, 0, ensure_nonempty_size(index, d));
  }
  check_same_dtype_and_device(op, "x", x, "source", source);
  TANDEM_CHECK(fits, op, ": Expected index ", index.sizes(), " to be no larger size than src ", source.sizes());
  if (index.numel() == 0) return source.reshape({source.numel()}).narrow(0, 0, 0).reshape(index.sizes());
  return source.dim() == index.dim() ? source : source.reshape(index.sizes());
}
}  // namespace
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  if (const Autocast cast{cast_policy::scatter_add, *this, index, source})
    return cast(*this).scatter_add(dim, cast(index), cast(source));
  dim = wrap_dim("scatter_add", dim, this->dim());
  const Tensor positions = check_gather_index("scatter_add", *this, dim, index);
  const Tensor part = narrow_source_to_index("scatter_add", *this, positions, source);
  return record_op("scatter_add", scatter_copy("scatter_add", *this, dim, positions, part, true), {*this, part},
                   {positions}, [dim](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {dy, ctx.needs_grad(1) ? dy.gather(dim, ctx.saved(0)) : Tensor()};
                   });
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& source) const {
  dim = wrap_dim("scatter", dim, this->dim());
  const Tensor positions = check_gather_index("scatter", *this, dim, index);
  const Tensor part = narrow_source_to_index("scatter", *this, positions, source);
  return record_op("scatter", scatter_copy("scatter", *this, dim, positions, part, false), {*this, part}, {positions},
                   [dim](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor index = ctx.saved(0);
                     return {ctx.needs_grad(0) ? dy.scatter(dim, index, zeros(index.sizes(), dy.options())) : Tensor(),
                             ctx.needs_grad(1) ? dy.gather(dim, index) : Tensor()};
                   });
}

/// In-place version of scatter and scatter_add.
static Tensor& scatter_inplace(const char* op, Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                               bool add) {
  dim = wrap_dim(op, dim, x.dim());
  const Tensor positions = check_gather_index(op, x, dim, index),
               part = narrow_source_to_index(op, x, positions, source);
  const auto direct = [&] {
    const auto copy_if_shared = [&](const Tensor& read) { return read.storage() == x.storage() ? read.clone() : read; };
    if (x.is_contiguous()) return scatter_into(op, x, dim, copy_if_shared(positions), copy_if_shared(part), add);
    copy_elements(scatter_copy(op, x, dim, positions, part, add), x);
  };
  return autograd::run_inplace(op, x, {part}, direct, [&](const Tensor& old) {
    return add ? old.scatter_add(dim, positions, part) : old.scatter(dim, positions, part);
  });
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return scatter_inplace("scatter_", self(), dim, index, source, false);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return scatter_inplace("scatter_add_", self(), dim, index, source, true);
}

namespace {
bool is_add_reduction(const std::string& reduce) {
  TANDEM_CHECK(reduce == "add" || reduce == "multiply", "scatter: reduce argument must be either add or multiply, got ",
               reduce);
  return reduce == "add";
}
/// Returns a tensor with index's sizes, filled with `value`.
Tensor full_like_index(const Tensor& x, const Tensor& index, const Scalar& value) {
  return full(index.sizes(), value, x.options());
}
}  // namespace
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scatter(dim, index, full_like_index(*this, index, value));
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scatter_(dim, index, full_like_index(self(), index, value));
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce) const {
  return is_add_reduction(reduce) ? scatter_add(dim, index, source) : scatter_reduce(dim, index, source, "prod");
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value, const std::string& reduce) const {
  return scatter(dim, index, full_like_index(*this, index, value), reduce);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce) const {
  return is_add_reduction(reduce) ? scatter_add_(dim, index, source) : scatter_reduce_(dim, index, source, "prod");
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value, const std::string& reduce) const {
  return scatter_(dim, index, full_like_index(self(), index, value), reduce);
}

}  // namespace tandem
