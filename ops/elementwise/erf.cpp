// Error functions: erf, erfc, erfinv.
#include "tandem/ops/elementwise/erf.h"

#include <numbers>

#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, erfinv);
TANDEM_CAST_POLICY(none, erf, erfc);

namespace {
namespace derivative {
TANDEM_ERF_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
}  // namespace derivative
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(erf)        { return (s * s).neg().exp() * dy * (2 * std::numbers::inv_sqrtpi); }
TANDEM_DEFINE_UNARY_DERIVATIVE(erfc)       { return (s * s).neg().exp() * dy * (-2 * std::numbers::inv_sqrtpi); }
TANDEM_DEFINE_UNARY_DERIVATIVE(erfinv)     { return s.erfinv().square().exp() * (0.5 / std::numbers::inv_sqrtpi) * dy; }
// clang-format on
namespace op_descriptor {
TANDEM_ERF_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_ERF_OPS(TANDEM_DEFINE_UNARY_OP)

}  // namespace tandem
