// Sequences with a given step: arange, range.
#include "tandem/ops/factory/arange.h"

#include <cmath>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  const double distance = end.to_double() - start.to_double(), by = step.to_double();
  TANDEM_CHECK(by != 0, "arange: step must be nonzero");
  TANDEM_CHECK(std::isfinite(distance), "arange: unsupported range: ", start, " -> ", end,
               "; both ends and their distance must be finite");
  TANDEM_CHECK(distance * by >= 0, "arange: upper bound and lower bound inconsistent with step sign, got ", start,
               " to ", end, " by ", step);
  int64_t count = 0, span = 0;
  if (integral && !__builtin_sub_overflow(end.to_int64(), start.to_int64(), &span)) {
    count = span / step.to_int64() + (span % step.to_int64() != 0);
  } else {
    const double steps = std::ceil(distance / by);
    TANDEM_CHECK(steps < 0x1p62, "arange: invalid size, possible overflow? ", start, " to ", end, " by ", step, " has ",
                 steps, " elements; accepted: fewer than 2^62");
    count = static_cast<int64_t>(steps);
  }
  Tensor out = make_empty("arange", {count}, options.dtype_or(integral ? kInt64 : get_default_dtype()), options);
  TANDEM_DISPATCH(out.device(), arange, start, step, out);
  return apply_requires_grad(out, options);
}
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return range(start, end, 1, options);
}
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const double first = start.to_double(), last = end.to_double(), by = step.to_double();
  TANDEM_CHECK(by != 0, "range: step must be nonzero");
  TANDEM_CHECK(std::isfinite(first) && std::isfinite(last), "range: unsupported range: ", start, " -> ", end,
               "; both ends must be finite");
  TANDEM_CHECK((last - first) * by >= 0, "range: upper bound and lower bound inconsistent with step sign, got ", start,
               " to ", end, " by ", step);
  const double count = std::floor((last - first) / by) + 1;
  // Passes an end that is half a step beyond the last value, so that rounding errors neither add nor drop a value.
  const Tensor y = arange(first, first + (count - 0.5) * by, by, options.requires_grad(false).dtype(options.dtype()));
  return options.requires_grad() ? y.requires_grad_() : y;
}

}  // namespace tandem
