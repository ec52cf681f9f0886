// Half types as floats and back, for the loops that are compiled for float and double alone (elements.h).
#include "tandem/kernels/cpu/loops/elements.h"

namespace tandem::kernels::cpu::TANDEM_ISA {

void widen(DType dtype, const char* from, float* to, int64_t n) {
  if (dtype == DType::float16)
    for (int64_t i = 0; i < n; ++i) to[i] = float(as<Half>(from)[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = float(as<BFloat16>(from)[i]);
}
void narrow(DType dtype, const float* from, char* to, int64_t n) {
  if (dtype == DType::float16)
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<Half*>(to)[i] = Half(from[i]);
  else
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<BFloat16*>(to)[i] = BFloat16(from[i]);
}

}  // namespace tandem::kernels::cpu::TANDEM_ISA
