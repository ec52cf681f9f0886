// Families of op cases, one source file each. tests/fixtures/op_cases/ has the same cases for PyTorch.
#pragma once
#include "tandem/tests/op_case.h"

namespace tandem::test {

/// Reason why an op case is not compared with finite differences.
inline constexpr const char* kKink = "sits on a kink";

extern const Family kActivation, kArrange, kBackward, kEdges, kElementwise, kFactory, kFormula, kIndex, kLinalg, kLoss,
    kLossFormula, kMatmul, kNorm, kNormFormula, kPad, kPoolRanks, kProducts, kReduce, kScatter, kSearch, kSpecial,
    kStatistics, kView, kVision;

/// An op with inputs of its own, without a fixture.
struct LargeCase {
  OpCase op;
  std::vector<InputSpec> inputs;
};
std::span<const LargeCase> large_cases();

}  // namespace tandem::test
