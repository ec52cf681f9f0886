// The forms in place, and with an output, of operations that are made of others.
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/elementwise/formula.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/out.h"

namespace tandem {
using namespace detail;

// ---- in place
#define TANDEM_INPLACE(name, parameters, others, call)                                               \
  Tensor& Tensor::name##_ parameters const {                                                         \
    return formula_inplace(#name "_", self(), others, [&](const Tensor& x) { return x.name call; }); \
  }
TANDEM_INPLACE(deg2rad, (), {}, ())
TANDEM_INPLACE(rad2deg, (), {}, ())
TANDEM_INPLACE(sinc, (), {}, ())
TANDEM_INPLACE(logit, (std::optional<double> eps), {}, (eps))
TANDEM_INPLACE(polygamma, (int64_t n), {}, (n))
TANDEM_INPLACE(mvlgamma, (int64_t p), {}, (p))
TANDEM_INPLACE(hypot, (const Tensor& other), {other}, (other))
TANDEM_INPLACE(copysign, (const Tensor& other), {other}, (other))
TANDEM_INPLACE(copysign, (const Scalar& other), {}, (other))
TANDEM_INPLACE(xlogy, (const Tensor& other), {other}, (other))
TANDEM_INPLACE(xlogy, (const Scalar& other), {}, (other))
TANDEM_INPLACE(ldexp, (const Tensor& other), {other}, (other))
TANDEM_INPLACE(heaviside, (const Tensor& values), {values}, (values))
TANDEM_INPLACE(cumsum, (int64_t dim), {}, (dim))
TANDEM_INPLACE(cumprod, (int64_t dim), {}, (dim))
#undef TANDEM_INPLACE
#define TANDEM_INPLACE(name)                                                                                       \
  Tensor& Tensor::name##_(const Tensor& a, const Tensor& b, double beta, double alpha) const {                     \
    return formula_inplace(#name "_", self(), {a, b}, [&](const Tensor& x) { return x.name(a, b, beta, alpha); }); \
  }
TANDEM_INPLACE(addmm)
TANDEM_INPLACE(addmv)
TANDEM_INPLACE(addr)
TANDEM_INPLACE(baddbmm)
TANDEM_INPLACE(addbmm)
#undef TANDEM_INPLACE
namespace {
void check_float_power(const Tensor& x) {
  TANDEM_CHECK(x.dtype() == kFloat64, "float_power_: x is ", x.dtype(), "; accepted: float64, the result's dtype");
}
}  // namespace
Tensor& Tensor::float_power_(const Tensor& exponent) const {
  check_float_power(self());
  return formula_inplace("float_power_", self(), {exponent}, [&](const Tensor& x) { return x.float_power(exponent); });
}
Tensor& Tensor::float_power_(const Scalar& exponent) const {
  check_float_power(self());
  return formula_inplace("float_power_", self(), {}, [&](const Tensor& x) { return x.float_power(exponent); });
}

// ---- activations in place
#define TANDEM_INPLACE(name, parameters, call)                                                         \
  Tensor& name##_ parameters {                                                                         \
    return formula_inplace(#name "_", target, {}, [&](const Tensor& x) { return tandem::name call; }); \
  }
TANDEM_INPLACE(leaky_relu, (Tensor & target, double negative_slope), (x, negative_slope))
TANDEM_INPLACE(elu, (Tensor & target, double alpha), (x, alpha))
TANDEM_INPLACE(celu, (Tensor & target, const Scalar& alpha), (x, alpha))
TANDEM_INPLACE(selu, (Tensor & target), (x))
TANDEM_INPLACE(threshold, (Tensor & target, const Scalar& threshold, const Scalar& value), (x, threshold, value))
TANDEM_INPLACE(hardtanh, (Tensor & target, const Scalar& min_val, const Scalar& max_val), (x, min_val, max_val))
TANDEM_INPLACE(relu6, (Tensor & target), (x))
TANDEM_INPLACE(hardsigmoid, (Tensor & target), (x))
TANDEM_INPLACE(hardswish, (Tensor & target), (x))
TANDEM_INPLACE(mish, (Tensor & target), (x))
TANDEM_INPLACE(rrelu, (Tensor & target, const Scalar& lower, const Scalar& upper, detail::Flag training),
               (x, lower, upper, training))
#undef TANDEM_INPLACE

// ---- with an output
#define TANDEM_OUT(name, parameters, inputs, call)                             \
  Tensor& name##_out parameters {                                              \
    return assign_out(#name "_out", out, inputs, [&] { return x.name call; }); \
  }
TANDEM_OUT(deg2rad, (Tensor & out, const Tensor& x), x, ())
TANDEM_OUT(rad2deg, (Tensor & out, const Tensor& x), x, ())
TANDEM_OUT(sinc, (Tensor & out, const Tensor& x), x, ())
TANDEM_OUT(logit, (Tensor & out, const Tensor& x, std::optional<double> eps), x, (eps))
TANDEM_OUT(polygamma, (Tensor & out, int64_t n, const Tensor& x), x, (n))
TANDEM_OUT(mvlgamma, (Tensor & out, const Tensor& x, int64_t p), x, (p))
TANDEM_OUT(clamp, (Tensor & out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max), x, (min, max))
TANDEM_OUT(clip, (Tensor & out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max), x, (min, max))
TANDEM_OUT(clamp_min, (Tensor & out, const Tensor& x, const Scalar& bound), x, (bound))
TANDEM_OUT(clamp_max, (Tensor & out, const Tensor& x, const Scalar& bound), x, (bound))
TANDEM_OUT(xlogy, (Tensor & out, const Tensor& x, const Scalar& other), x, (other))
#undef TANDEM_OUT
#define TANDEM_OUT(name)                                                     \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b) {        \
    return assign_out(#name "_out", out, {a, b}, [&] { return a.name(b); }); \
  }
TANDEM_OUT(hypot)
TANDEM_OUT(logaddexp)
TANDEM_OUT(logaddexp2)
TANDEM_OUT(copysign)
TANDEM_OUT(xlogy)
TANDEM_OUT(ldexp)
TANDEM_OUT(heaviside)
TANDEM_OUT(float_power)
#undef TANDEM_OUT
Tensor& xlogy_out(Tensor& out, const Scalar& a, const Tensor& b) {
  return assign_out("xlogy_out", out, b, [&] { return xlogy(a, b); });
}

}  // namespace tandem
