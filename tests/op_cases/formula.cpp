// Op cases of elementwise operations and activations that are composed of other operations.
#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/addcmul.h"
#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/lerp.h"
#include "tandem/ops/elementwise/logaddexp.h"
#include "tandem/ops/elementwise/nan_to_num.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr OpCase kFormulaCases[] = {
    {"lerp", [](In in) { return lerp(in[0], in[1], 0.3); }},
    {"lerp/far", [](In in) { return lerp(in[0], in[1], 1.5); }},
    {"lerp/tensor", [](In in) { return lerp(in[0], in[1], in[2]); }},
    {"lerp_", [](In in) { return (in[0] * 2).lerp_(in[1], in[2]); }},
    {"lerp_/number", [](In in) { return (in[0] * 2).lerp_(in[1], 0.75); }},
    {"addcmul", [](In in) { return addcmul(in[0], in[1], in[2]); }, {.integers = true}},
    {"addcmul/value", [](In in) { return addcmul(in[0], in[1], in[2], -1.5); }},
    {"addcmul/int", [](In in) { return addcmul(in[0], in[1], in[2], 3); }},
    {"addcmul/fraction", [](In in) { return addcmul(in[0], in[1], in[2], -2.75); }},
    {"addcmul_", [](In in) { return (in[0] * 2).addcmul_(in[1], in[2], 0.5); }},
    {"addcdiv", [](In in) { return addcdiv(in[0], in[1], in[2], 0.5); }},
    {"addcdiv_", [](In in) { return (in[0] * 2).addcdiv_(in[1], in[2]); }},
    {"hypot", [](In in) { return hypot(in[0], in[1]); }},
    {"hypot/special", [](In in) { return hypot(in[0], in[1]); }},
    {"logaddexp", [](In in) { return logaddexp(in[0], in[1]); }},
    {"logaddexp/far", [](In in) { return logaddexp(in[0], in[1]); }},
    {"logaddexp/special", [](In in) { return logaddexp(in[0], in[1]); }},
    {"logaddexp2", [](In in) { return logaddexp2(in[0], in[1]); }},
    {"nan_to_num", [](In in) { return nan_to_num(in[0]); }, {.integers = true}},
    {"nan_to_num/given", [](In in) { return nan_to_num(in[0], 1.0, 2.0, -3.0); }, {.no_gradcheck = kKink}},
    {"nan_to_num_", [](In in) { return (in[0] * 2).nan_to_num_(1.0, 2.0, -3.0); }, {.no_gradcheck = kKink}},
    {"copysign", [](In in) { return copysign(in[0], in[1]); }},
    {"copysign/scalar", [](In in) { return copysign(in[0], -1.0); }},
    {"copysign/special", [](In in) { return copysign(in[0], in[1]); }},
    {"copysign/slope", [](In in) { return copysign(in[0], in[1]); }, {.no_gradcheck = kKink}},
    {"xlogy", [](In in) { return xlogy(in[0], in[1]); }},
    {"xlogy/scalar", [](In in) { return xlogy(in[0], 2.5); }},
    {"xlogy/of_scalar", [](In in) { return xlogy(2.5, in[0]); }},
    {"xlogy/special", [](In in) { return xlogy(in[0], in[1]); }},
    {"xlogy/zero", [](In in) { return xlogy(in[0], in[1]); }, {.no_gradcheck = kKink}},
    {"deg2rad", [](In in) { return deg2rad(in[0]); }},
    {"rad2deg", [](In in) { return rad2deg(in[0]); }},
    {"deg2rad/int", [](In in) { return deg2rad(in[0]); }},
    {"sinc", [](In in) { return sinc(in[0]); }},
    {"sinc/special", [](In in) { return sinc(in[0]); }},
    {"logit", [](In in) { return logit(in[0]); }},
    {"logit/eps",
     [](In in) { return logit(in[0], 0.2); },
     {.no_half = "its gradient ends at the bounds, across which half types round"}},
    {"isposinf", [](In in) { return isposinf(in[0]); }},
    {"isneginf", [](In in) { return isneginf(in[0]); }},
    {"isreal", [](In in) { return isreal(in[0]); }},
    {"signbit", [](In in) { return signbit(in[0]); }},
    {"positive", [](In in) { return positive(in[0] * 2); }, {.integers = true}},
    {"float_power", [](In in) { return float_power(in[0], in[1]).to(in[0].dtype()); }},
    {"float_power/scalar", [](In in) { return float_power(in[0], 2).to(in[0].dtype()); }},
    {"float_power/of_scalar", [](In in) { return float_power(2.5, in[0]).to(in[0].dtype()); }},
    {"ldexp", [](In in) { return ldexp(in[0], in[1]); }},
    {"heaviside", [](In in) { return heaviside(in[0], in[1]); }},
    {"rsub", [](In in) { return rsub(in[0], in[1], 1.5); }},
    {"rsub/scalar", [](In in) { return rsub(in[0], 2.5, 3); }},
    {"true_divide", [](In in) { return true_divide(in[0], in[1]); }},
    {"isclose", [](In in) { return isclose(in[0], in[1], 0.5, 0.1); }},
    {"isclose/special", [](In in) { return isclose(in[0], in[1], 1e-5, 1e-8, true); }},
    {"where/positions", [](In in) { return where(in[0]); }, {.no_storage = "gives columns of one tensor"}},
    // ---- activations
    {"softshrink", [](In in) { return softshrink(in[0]); }},
    {"softshrink/special", [](In in) { return softshrink(in[0], 1.0); }},
    {"hardshrink", [](In in) { return hardshrink(in[0]); }},
    {"hardshrink/special", [](In in) { return hardshrink(in[0], 1.0); }, {.no_gradcheck = kKink}},
    {"tanhshrink", [](In in) { return tanhshrink(in[0]); }},
    {"celu", [](In in) { return celu(in[0], 1.5); }},
    {"celu/special", [](In in) { return celu(in[0]); }, {.no_gradcheck = kKink}},
    {"selu", [](In in) { return selu(in[0]); }},
    {"threshold", [](In in) { return threshold(in[0], 0.1, -2); }},
    {"threshold/special", [](In in) { return threshold(in[0], 1.0, 3.0); }, {.no_gradcheck = kKink}},
    {"hardtanh", [](In in) { return hardtanh(in[0], -0.5, 0.25); }},
    {"hardtanh/special", [](In in) { return hardtanh(in[0]); }, {.no_gradcheck = kKink}},
    {"relu6", [](In in) { return relu6(in[0]); }, {.integers = true}},
    {"relu6/special", [](In in) { return relu6(in[0] * 6); }, {.no_gradcheck = kKink}},
    {"hardsigmoid", [](In in) { return hardsigmoid(in[0]); }},
    {"hardsigmoid/special", [](In in) { return hardsigmoid(in[0] * 3); }, {.no_gradcheck = kKink}},
    {"hardswish", [](In in) { return hardswish(in[0]); }},
    {"hardswish/special", [](In in) { return hardswish(in[0] * 3); }, {.no_gradcheck = kKink}},
    {"mish", [](In in) { return mish(in[0]); }},
    {"log_sigmoid", [](In in) { return log_sigmoid(in[0]); }},
    {"gelu/tanh", [](In in) { return gelu(in[0], "tanh"); }},
    {"glu", [](In in) { return glu(in[0]); }},
    {"glu/middle", [](In in) { return glu(in[0], 1); }},
    {"prelu", [](In in) { return prelu(in[0], in[1]); }},
    {"prelu/one", [](In in) { return prelu(in[0], in[1]); }},
    {"rrelu", [](In in) { return rrelu(in[0]); }},
};
const Family kFormula{"formula", kFormulaCases};

}  // namespace tandem::test
