// Logical operations: logical_and, logical_or, logical_xor, logical_not.
#include "tandem/ops/elementwise/logical.h"

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, logical_not);

namespace {
namespace op_descriptor {
TANDEM_LOGICAL_OPS(TANDEM_DEFINE_COMPARISON_DESCRIPTOR)
TANDEM_DEFINE_UNARY_DESCRIPTOR(logical_not, CastPolicy::none, any, nothing, true, nullptr)
}  // namespace op_descriptor
}  // namespace

TANDEM_LOGICAL_OPS(TANDEM_DEFINE_BINARY_OP)
TANDEM_LOGICAL_NOT_OPS(TANDEM_DEFINE_UNARY_OP)

}  // namespace tandem
