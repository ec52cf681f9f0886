// The families of op cases, one source file each; tests/fixtures/op_cases/ has the same rows for PyTorch.
#pragma once
#include "tandem/tests/op_case.h"

namespace tandem::test {

extern const Family kActivation, kBackward, kElementwise, kIndex, kLoss, kMatmul, kNorm, kReduce, kView;

}  // namespace tandem::test
