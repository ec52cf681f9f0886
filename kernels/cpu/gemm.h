// One matrix product in the calling thread. Products of floats go through Tandem's own blocked loop where it is the
// faster, small ones and those of doubles through OpenBLAS. Products of bfloat16 go through oneDNN where the processor
// has instructions for them, other half types through the blocked loop.
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
