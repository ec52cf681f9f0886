// Implements use_deterministic_algorithms(), set_float32_matmul_precision() and their getters.
#include "tandem/core/algorithms.h"

#include "tandem/core/internal.h"
#include "tandem/core/thread_context.h"

namespace tandem {

void use_deterministic_algorithms(bool wanted) { ThreadContext::current().deterministic_algorithms = wanted; }
bool are_deterministic_algorithms_enabled() { return ThreadContext::current().deterministic_algorithms; }

void set_float32_matmul_precision(const std::string& precision) {
  TANDEM_CHECK(precision == "highest" || precision == "high" || precision == "medium",
               "set_float32_matmul_precision: ", precision, " is not one of 'highest', 'high', or 'medium'");
  ThreadContext::current().float32_precision = precision == "highest" ? Float32Precision::highest
                                               : precision == "high"  ? Float32Precision::high
                                                                      : Float32Precision::medium;
}
std::string get_float32_matmul_precision() {
  switch (ThreadContext::current().float32_precision) {
    case Float32Precision::highest: return "highest";
    case Float32Precision::high: return "high";
    default: return "medium";
  }
}

}  // namespace tandem
