// Replacing NaN and infinities by numbers: nan_to_num, nan_to_num_.
#include "tandem/ops/elementwise/nan_to_num.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, nan_to_num);

Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) const {
  if (!is_floating_point()) return clone();
  const double most = detail::max_finite(dtype());
  // Converts a replacement value to x's dtype. A value out of the dtype's range becomes infinite.
  const auto number = [&](double value) { return wrapped_scalar_tensor(device(), value, dtype()); };
  Tensor y;
  {
    const NoGradGuard guard;
    y = tandem::where(isnan(), number(nan.value_or(0)), *this);
    y = tandem::where(isposinf(), number(posinf.value_or(most)), y);
    y = tandem::where(isneginf(), number(neginf.value_or(-most)), y);
  }
  return record_op("nan_to_num", y, {*this}, {*this}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {dy * ctx.saved(0).isfinite().to(dy.dtype())};
  });
}
Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf,
                            std::optional<double> neginf) const {
  return compute_inplace("nan_to_num_", self(), {}, [&](const Tensor& x) { return x.nan_to_num(nan, posinf, neginf); });
}

}  // namespace tandem
