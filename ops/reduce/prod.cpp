// Products: prod, over all elements or along a dimension.
#include "tandem/ops/reduce/prod.h"

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, prod);

namespace {
/// Returns, for each element of a vector, the product of all other elements. All derivatives are correct even if there
/// are zeros. Upwards, a binary tree of products is computed: of pairs, of pairs of pairs, and so on. Downwards, each
/// half of a pair gets the product of all elements outside of it.
Tensor products_of_other_elements(const Tensor& x) {
  // levels of the tree; every level but the last (of size 1) is padded to an even size
  std::vector<Tensor> levels = {x};
  while (levels.back().size(0) > 1) {
    Tensor& level = levels.back();
    if (level.size(0) % 2 == 1) level = cat({level, ones({1}, level.options())});
    const Tensor pairs = level.view({-1, 2});
    levels.push_back(pairs.select(1, 0) * pairs.select(1, 1));
  }
  Tensor others = ones({1}, x.options());
  for (levels.pop_back(); !levels.empty(); levels.pop_back()) {
    const Tensor pairs = levels.back().view({-1, 2});
    others = (others.narrow(0, 0, pairs.size(0)).unsqueeze(1) * pairs.flip({1})).view({-1});
  }
  return others.narrow(0, 0, x.size(0));
}
}  // namespace
Tensor Tensor::prod() const {
  if (const Autocast cast{cast_policy::prod, *this}) return cast(*this).prod();
  const ReducedDims r("prod", *this, {});
  Tensor flat = r.allocate_output(is_floating_point() ? dtype() : kInt64);
  TANDEM_DISPATCH(device(), prod, r.x, flat);
  const Tensor y = r.restore_result_shape(flat, false);
  return record_op("prod", y, {*this}, {*this, y}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), y = ctx.saved(1), zero = x == 0, any_zero = zero.any();
    const auto compute_with_zeros = [&] { return dy * products_of_other_elements(x.reshape({-1})).view(x.sizes()); };
    if (is_graph_recording())  // while a Graph records, the host cannot read any_zero, so both cases are computed
      return {tandem::where(any_zero, compute_with_zeros(), dy * y / x.masked_fill(zero, 1))};
    return {any_zero.item<bool>() ? compute_with_zeros() : dy * y / x};
  });
}

Tensor Tensor::prod(int64_t dim, Flag keepdim, std::optional<DType> dtype) const {
  if (const Autocast cast{cast_policy::prod, *this}) return cast(*this).prod(dim, keepdim, dtype);
  if (dtype && !tandem::is_floating_point(*dtype)) return to(*dtype).prod(dim, keepdim).to(*dtype);
  const Tensor x = dtype ? to(*dtype) : is_floating_point() ? *this : to(kInt64);
  const int64_t d = wrap_dim("prod", dim, x.dim());
  if (x.dim() == 0) return x.clone();
  if (x.size(d) > 0) {
    const Tensor last = (x.size(d) == 1 ? attach_inputs_to_backward(x) : x).cumprod(d).narrow(d, -1, 1);
    return (keepdim ? last : last.squeeze(d)).clone(MemoryFormat::Contiguous);
  }
  Shape sizes = x.sizes();
  sizes[static_cast<size_t>(d)] = 1;
  return record_op("prod", ones(sizes, x.options()).sum(d, keepdim), {x}, {},
                   [sizes = Shape(x.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {ctx.attach_zero_derivative(0, zeros(sizes, dy.options()))};
                   });
}

}  // namespace tandem
