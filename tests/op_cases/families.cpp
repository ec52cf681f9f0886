// Lists all families of op cases.
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
std::span<const Family> families() {
  static const Family all[] = {kActivation, kArrange,     kBackward, kEdges,      kElementwise, kFactory,
                               kFormula,    kIndex,       kLinalg,   kLoss,       kLossFormula, kMatmul,
                               kNorm,       kNormFormula, kPad,      kPoolRanks,  kProducts,    kReduce,
                               kScatter,    kSearch,      kSpecial,  kStatistics, kView,        kVision};
  return all;
}
}  // namespace tandem::test
