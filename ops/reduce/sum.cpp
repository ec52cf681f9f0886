// Sums over all elements or some dimensions: sum, nansum, sum_out; sum_to_size.
#include "tandem/ops/reduce/sum.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, sum);
TANDEM_CAST_POLICY(none, nansum, sum_to_size);

Tensor Tensor::sum(IntArrayRef dims, Flag keepdim) const {
  if (const Autocast cast{cast_policy::sum, *this}) return cast(*this).sum(dims, keepdim);
  Tensor y = sum_over_non_channels("sum", *this, dims, keepdim, 1);
  if (!y.defined()) y = sum_in_two_steps(*this, dims, keepdim);
  if (y.defined()) return record_sum("sum", y, *this, make_dim_mask("sum", dims, dim()));
  return sum_with_dtype(*this, dims, keepdim, is_floating_point() ? dtype() : kInt64);
}
Tensor& sum_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {
  return detail::assign_out("sum_out", out, x, [&] { return x.sum(dims, keepdim); });
}
Tensor Tensor::nansum(IntArrayRef dims, Flag keepdim) const {
  const AutocastOffGuard uncast;
  return is_floating_point() ? tandem::where(isnan(), Scalar(0), *this).sum(dims, keepdim) : sum(dims, keepdim);
}

Tensor sum_to_size(const Tensor& x, IntArrayRef sizes) {
  if (sizes.empty()) return x.sum();
  TANDEM_CHECK(broadcast_shapes("sum_to_size", sizes, x.sizes()) == x.sizes(), "sum_to_size: size {", sizes,
               "} is not expandable to size {", x.sizes(), "}");
  Shape dims;
  const int64_t added = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d < added || (sizes[static_cast<size_t>(d - added)] == 1 && x.size(d) != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? x : x.sum(dims, true);
  return added > 0 ? total.view(sizes) : total;
}
Tensor Tensor::sum_to_size(IntArrayRef wanted) const {
  bool fits = static_cast<int64_t>(wanted.size()) <= dim();
  for (size_t k = 1; fits && k <= wanted.size(); ++k)
    fits = wanted[wanted.size() - k] == 1 || wanted[wanted.size() - k] == sizes()[sizes().size() - k];
  TANDEM_CHECK(fits, "sum_to_size: size {", wanted, "} is not expandable to size {", sizes(), "}");
  return tandem::sum_to_size(*this, wanted);
}

}  // namespace tandem
