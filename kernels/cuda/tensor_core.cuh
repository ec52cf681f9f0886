// Instructions of a warp that feed tensor cores, and copies to shared memory that run in the background. Under nvcc
// they are PTX; otherwise emulation/tensor_core.h gives them the same meaning. Kernels that call them need a GPU for
// which has_tensor_cores() holds.
#pragma once
#include <type_traits>

#include "tandem/core/half.h"
#include "tandem/kernels/cuda/launch.h"

#if !defined(__CUDACC__)
#include "tandem/emulation/tensor_core.h"
#endif
// Defined if the code is compiled for a GPU that has these instructions. (nvcc also parses it for the host.)
#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define TANDEM_TENSOR_CORE_PTX 1
#endif

namespace tandem::kernels::cuda {

/// Returns whether the device has the instructions below: compute capability 8.0 or later, or the emulated device.
inline bool has_tensor_cores([[maybe_unused]] Device device) {
#if defined(__CUDACC__)
  return gpu::properties(device.index()).major >= 8;
#else
  return true;
#endif
}

/// Adds the product of a 16 x 16 and a 16 x 8 matrix of T (Half or BFloat16) to d. Lane l holds in a, as pairs of
/// neighbouring columns, rows l / 4 and l / 4 + 8 at columns 2 (l % 4) (a[0], a[1]) and 8 columns later (a[2], a[3]).
/// It holds in b0, b1 column l / 4 at rows 2 (l % 4) and 8 rows later; and in d rows l / 4 (d[0], d[1]) and l / 4 + 8
/// (d[2], d[3]) at columns 2 (l % 4) and 2 (l % 4) + 1.
template <class T>
__device__ __forceinline__ void multiply_matrices(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  static_assert(std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>);
#if !defined(__CUDACC__)
  emulation::multiply_matrices(std::is_same_v<T, BFloat16>, d, a, {b0, b1}, emulation::SourceLocation::here());
#elif defined(TANDEM_TENSOR_CORE_PTX)
  if constexpr (std::is_same_v<T, BFloat16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

/// Loads four 8 x 8 matrices from shared memory. Lane 8 i + r passes the address of row r of matrix i: 16 bytes,
/// aligned to 16. Lane l receives in to[i] the elements at row l / 4, columns 2 (l % 4) and 2 (l % 4) + 1, of matrix i
/// or, if kTransposed, of its transpose.
template <bool kTransposed, class T> __device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const T* row) {
  static_assert(sizeof(T) == 2);
#if !defined(__CUDACC__)
  emulation::load_matrices(to, row, kTransposed);
#elif defined(TANDEM_TENSOR_CORE_PTX)
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#else
  __trap();
#endif
}

/// Starts to copy 16 bytes from global to shared memory or, if `present` is false, to write zeros there. Both addresses
/// must be multiples of 16. The bytes can be read after wait_for_copies() and, by other threads, a barrier.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool present) {
#if !defined(__CUDACC__)
  emulation::copy_async(to, from, present);
#elif defined(TANDEM_TENSOR_CORE_PTX)
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from)), "r"(present ? 16 : 0)
      : "memory");
#else
  __trap();
#endif
}
/// Waits until the calling thread's copies have completed.
__device__ __forceinline__ void wait_for_copies() {
#if !defined(__CUDACC__)
  emulation::wait_for_copies();
#elif defined(TANDEM_TENSOR_CORE_PTX)
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Rounds two numbers to T (Half or BFloat16); `low` becomes the lower half of the word.
template <class T> __device__ __forceinline__ uint32_t round_pair(float low, float high) {
#if defined(TANDEM_TENSOR_CORE_PTX)
  uint32_t pair;
  if constexpr (std::is_same_v<T, BFloat16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return T(low).bits | uint32_t(T(high).bits) << 16;
#endif
}

/// Returns 2^x with an error of about two units in the last place; results below 2^-126 are 0.
__device__ __forceinline__ float fast_exp2(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

}  // namespace tandem::kernels::cuda
