// Computes one matrix product in the calling thread. Large float products use Tandem's own loops, which are faster
// there; small float products and all double products use OpenBLAS if it is built in. Large bfloat16 products use
// oneDNN if the processor has bfloat16 instructions. All other products of half types use Tandem's loop.
#pragma once
#include <compare>
#include <cstdint>

#include "tandem/core/half.h"

namespace tandem::kernels::cpu {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// c (m, n) = op(a) op(b) (+ c if accumulate), row-major with leading dimensions. op transposes when asked: a
/// transposed a is stored (k, m).
struct Gemm {
  bool transpose_a, transpose_b, accumulate;
  int64_t m, n, k, lda, ldb, ldc;
  auto operator<=>(const Gemm&) const = default;
};
void gemm(const Gemm& g, const float* a, const float* b, float* c);
void gemm(const Gemm& g, const double* a, const double* b, double* c);
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c);
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
/// Whether oneDNN is built in and the processor multiplies bfloat16 itself, which those of above then leave to it.
bool onednn_multiplies_bfloat16();
/// Needs such a processor. Our own kernel multiplies if oneDNN has no such product, or exit() has begun.
void onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
void onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, float* c);
/// Our own, whatever is built in: an element of c does not depend on how a larger product is cut into rows and columns.
template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c);

}  // namespace tandem::kernels::cpu
