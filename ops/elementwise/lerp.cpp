// Linear interpolation: lerp, lerp_.
#include "tandem/ops/elementwise/lerp.h"

#include <cmath>

#include "tandem/ops/argument.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, lerp);

namespace {
void check_lerp(const Tensor& start, const Tensor& end) {
  check_accepted_dtype("lerp", AcceptedDtypes::real, start.dtype());
  check_same_dtype("lerp", "start", start, "end", end);
}
}  // namespace

Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const {
  check_lerp(*this, end);
  // Interpolates from the nearer end, so that weights 0 and 1 give the ends exactly.
  const double w = weight.to_double();
  const Tensor difference = *this - end;  // start is the first operand because its layout becomes the result's layout
  return std::abs(w) < 0.5 ? *this - difference * w : difference * (1 - w) + end;
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const {
  check_lerp(*this, end);
  check_same_dtype("lerp", "start", *this, "weight", weight);
  const Tensor difference = end - *this;
  return tandem::where(weight.abs() < 0.5, *this + weight * difference, end - difference * (1 - weight));
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) const {
  return compute_inplace("lerp_", self(), {end}, [&](const Tensor& x) { return x.lerp(end, weight); });
}
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  return compute_inplace("lerp_", self(), {end, weight}, [&](const Tensor& x) { return x.lerp(end, weight); });
}

}  // namespace tandem
