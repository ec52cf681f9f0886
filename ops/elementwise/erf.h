// Error functions: erf, erfc, erfinv. ops/elementwise/special.h has more, from torch.special.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_ERF_OPS(TANDEM_DECLARE_UNARY_OP)

}  // namespace tandem
