// Sequences with a given number of values: linspace, logspace.
#include "tandem/ops/factory/linspace.h"

#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

/// Truncates start and end to integers, interpolates from the nearer end, and truncates the values, as PyTorch does.
static Tensor integer_linspace(double start, double end, int64_t steps, const TensorOptions& options) {
  Tensor host = core::empty({steps}, options.dtype(), kCPU);
  if (steps == 0) return host.to(options.device());
  visit_dtype(host.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto first = static_cast<double>(Scalar(start).to<T>()), last = static_cast<double>(Scalar(end).to<T>());
      const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0.0;
      for (int64_t i = 0; i < steps; ++i)
        host.data<T>()[i] = static_cast<T>(i < steps / 2 ? first + step * static_cast<double>(i)
                                                         : last - step * static_cast<double>(steps - 1 - i));
    }
  });
  if (steps == 1) host.fill_(start);
  return host.to(options.device());
}
detail::SequenceEnd::SequenceEnd(const Tensor& value) {
  TANDEM_CHECK(value.dim() == 0,
               "linspace and logspace only support 0-dimensional start and end tensors, but got a tensor of sizes ",
               value.sizes());
  value_ = value.item();
}
Tensor linspace(SequenceEnd first, SequenceEnd last, int64_t steps, const TensorOptions& options) {
  const double start = first, end = last;
  TANDEM_CHECK(steps >= 0, "linspace: number of steps must be non-negative, got ", steps);
  TANDEM_CHECK(options.dtype() != kBool || steps < 2, "linspace: not implemented for '", options.dtype(),
               "'; accepted: every other dtype, or at most 1 step");
  if (!is_floating_point(options.dtype()))
    return apply_requires_grad(integer_linspace(start, end, steps, options), options);
  Tensor out = make_empty("linspace", {steps}, options.dtype(), options);
  TANDEM_DISPATCH(out.device(), arange, start, steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0.0, out);
  // Sets the last value exactly: start + i * step has rounding errors.
  if (steps > 1) core::select(out, 0, -1).fill_(end);
  return apply_requires_grad(out, options);
}
Tensor logspace(SequenceEnd start, SequenceEnd end, int64_t steps, double base, const TensorOptions& options) {
  const AutocastOffGuard uncast;
  const DType type = options.dtype();
  // The powers are computed in float64, because exponents rounded to `type` would be too inaccurate.
  const TensorOptions wide = options.requires_grad(false).dtype(kFloat64);
  TANDEM_CHECK(type != kBool, "logspace: not implemented for '", type, "'; accepted: every other dtype");
  Tensor y = linspace(start, end, steps, wide);
  y = (full({}, base, wide).pow(y)).to(type);
  return options.requires_grad() ? y.requires_grad_() : y;
}

}  // namespace tandem
