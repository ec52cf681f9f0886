// Instructions of PTX that feed tensor cores: matrix products and loads of matrices by a warp, and copies to shared
// memory that run in the background. Matrices are distributed over the lanes as the PTX ISA describes ("Matrix
// Fragments for mma.m16n8k16", "ldmatrix", "cp.async"). Like shuffles, these instructions make the lanes wait for one
// another, but do not order their memory accesses.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/core/half.h"
#include "tandem/emulation/running_thread.h"

namespace tandem::emulation {

/// Adds the matrix product a b (16 x 16 by 16 x 8) to d (16 x 8): mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32, where
/// T is f16 or bf16. Sums in float32, in the order of k.
void multiply_matrices(bool bfloat16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                       SourceLocation location);

/// Checks that a lane's address is a multiple of 16 and that 16 bytes from there are in shared memory.
void check_shared_row(const char* function_name, const void* address, SourceLocation location);

/// Loads N matrices of 8 x 8 elements of 16 bits: ldmatrix.sync.aligned.m8n8.xN(.trans).shared.b16. Lane 8 i + r passes
/// the address of row r of matrix i. Each lane reads the elements that it receives, so a sanitizer sees its accesses.
template <int N>
void load_matrices(uint32_t (&to)[N], const void* row, bool transposed,
                   SourceLocation location = SourceLocation::here()) {
  static_assert(N == 2 || N == 4);
  const char* const name = transposed ? "ldmatrix.trans" : "ldmatrix";
  const unsigned lane = position.lane;
  if (lane < 8 * N) check_shared_row(name, row, location);
  uint64_t rows[32];
  if (gather_lanes(name, ~0u, reinterpret_cast<uint64_t>(row), rows, location) != ~0u)
    fail(std::string(name) + ": all 32 lanes of the warp must take part, but some have ended or do not exist",
         location);
  for (unsigned i = 0; i < N; ++i) {
    uint16_t pair[2];
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned major = lane / 4, minor = lane % 4 * 2 + j;
      const auto* const from = reinterpret_cast<const uint16_t*>(rows[8 * i + (transposed ? minor : major)]);
      pair[j] = from[transposed ? major : minor];
    }
    to[i] = pair[0] | uint32_t(pair[1]) << 16;
  }
}

/// Writes 16 bytes. They are written one by one, because ThreadSanitizer does not see a memset() or memcpy() that the
/// compiler expands.
template <class F> void write_words(void* to, F word) {
  for (int i = 0; i < 8; ++i) static_cast<volatile uint16_t*>(to)[i] = word(i);
}
/// Copies 16 bytes from global to shared memory in the background, or writes zeros if `present` is false: cp.async.
/// Until the thread calls wait_for_copies(), the destination contains NaN.
inline void copy_async(void* to, const void* from, bool present, SourceLocation location = SourceLocation::here()) {
  check_shared_row("cp.async", to, location);
  if (present && reinterpret_cast<uintptr_t>(from) % 16 != 0)
    fail("cp.async: the source address is not a multiple of 16", location);
  write_words(to, [](int) -> uint16_t { return 0xffff; });
  push_copy({to, present ? from : nullptr});
}
/// Waits until the calling thread's copies have completed: cp.async.wait_all. Other threads see the copied bytes after
/// a barrier.
inline void wait_for_copies() {
  for (AsyncCopy copy; pop_copy(copy);) {
    const auto* const from = static_cast<const uint16_t*>(copy.from);
    write_words(copy.to, [from](int i) -> uint16_t { return from ? from[i] : 0; });
  }
}

}  // namespace tandem::emulation
