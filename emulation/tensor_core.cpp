// Implements the matrix product of a warp, and the check of addresses in shared memory.
#include "tandem/emulation/tensor_core.h"

#include <bit>

namespace tandem::emulation {
namespace {

struct Operands {
  float* d;
  const uint32_t *a, *b;
  bool bfloat16;
  /// Returns one of the two elements of a register.
  float element(uint32_t word, unsigned half) const {
    const auto bits = static_cast<uint16_t>(word >> 16 * half);
    return bfloat16 ? float(std::bit_cast<BFloat16>(bits)) : float(std::bit_cast<Half>(bits));
  }
};

void multiply(const uint64_t (&values)[32]) {
  float a[16][16], b[16][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto& operands = *reinterpret_cast<const Operands*>(values[lane]);
    const unsigned group = lane / 4, pair = lane % 4 * 2;
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned r = 0; r < 4; ++r)
        a[group + r % 2 * 8][pair + r / 2 * 8 + half] = operands.element(operands.a[r], half);
      for (unsigned r = 0; r < 2; ++r) b[pair + r * 8 + half][group] = operands.element(operands.b[r], half);
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      float& sum = reinterpret_cast<const Operands*>(values[lane])->d[i];
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
    }
}

}  // namespace

void multiply_matrices(bool bfloat16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                       SourceLocation location) {
  const Operands operands{d, a, b, bfloat16};
  run_for_warp(bfloat16 ? "mma.bf16" : "mma.f16", reinterpret_cast<uint64_t>(&operands), multiply, location);
}

void check_shared_row(const char* function_name, const void* address, SourceLocation location) {
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
    fail(std::string(function_name) + ": the lane's address is not a multiple of 16 bytes", location);
  if (!is_shared(address, 16))
    fail(std::string(function_name) +
             ": the lane's address is not in the block's shared memory, or the 16 bytes there "
             "exceed an array",
         location);
}

}  // namespace tandem::emulation
