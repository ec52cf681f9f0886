// Logical operations: logical_and, logical_or, logical_xor, logical_not.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_LOGICAL_OPS(TANDEM_DECLARE_BINARY_OP)
TANDEM_LOGICAL_NOT_OPS(TANDEM_DECLARE_UNARY_OP)

}  // namespace tandem
