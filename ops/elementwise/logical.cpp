// Logical operations: logical_and, logical_or, logical_xor, logical_not.
#include "tandem/ops/elementwise/logical.h"

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, logical_not);

namespace {
namespace line {
TANDEM_LOGICAL_OPS(TANDEM_COMPARISON_LINE)
TANDEM_UNARY_LINE(logical_not, CastPolicy::none, any, nothing, true, nullptr)
}  // namespace line
}  // namespace

TANDEM_LOGICAL_OPS(TANDEM_DEFINE_BINARY)
TANDEM_LOGICAL_NOT_OPS(TANDEM_DEFINE_UNARY)

}  // namespace tandem
