// The message about a number that is no reduction.
#include "tandem/ops/loss/reduction.h"

#include "tandem/core/error.h"

namespace tandem {

void detail::throw_invalid_reduction(int64_t number) {
  TANDEM_CHECK(false, "reduction is ", number, "; accepted: 0 (none), 1 (mean) and 2 (sum)");
  __builtin_unreachable();
}

}  // namespace tandem
