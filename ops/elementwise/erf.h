// Error functions: erf, erfc, erfinv. torch.special has more of them: ops/elementwise/special.h.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
TANDEM_ERF_OPS(TANDEM_DECLARE_UNARY_OP)

}  // namespace tandem
