// The logarithm of a sum of exponentials, over all elements or some dimensions: logsumexp, logsumexp_out.
#include "tandem/ops/reduce/logsumexp.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, logsumexp);

Tensor Tensor::logsumexp(IntArrayRef dims, Flag keepdim) const {
  if (const Autocast cast{cast_policy::logsumexp, *this}) return cast(*this).logsumexp(dims, keepdim);
  const Tensor x = is_floating_point() ? *this : to(get_default_dtype());
  const Shape keepdim_sizes = get_keepdim_sizes(x.sizes(), make_dim_mask("logsumexp", dims, x.dim()));
  Tensor y;
  {
    const NoGradGuard guard;
    // peak is subtracted so that e^x does not overflow. It is 0 where the largest element is infinite.
    Tensor peak = zeros(keepdim_sizes, x.options());
    if (numel() > 0) {
      peak = x.amax(dims, true);
      peak = tandem::where(peak.isfinite(), peak, Scalar(0));
    }
    y = (x - peak).exp().sum(dims, keepdim).log();
    y = y + peak.reshape(y.sizes());
  }
  return record_op("logsumexp", y, {x}, {x, y}, [keepdim_sizes](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {reshape_to_keepdim(dy, keepdim_sizes) *
            (ctx.saved(0) - reshape_to_keepdim(ctx.saved(1), keepdim_sizes)).exp()};
  });
}
Tensor& logsumexp_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {
  return detail::assign_out("logsumexp_out", out, x, [&] { return x.logsumexp(dims, keepdim); });
}

}  // namespace tandem
