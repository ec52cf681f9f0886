// One matrix product in the calling thread: through oneDNN or OpenBLAS, whichever is the faster for its sizes of those
// that are built in, else our own blocked loop, which half types always take.
#pragma once
#include <cstdint>

#include "tandem/core/half.h"

namespace tandem::kernels::cpu {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// c (m, n) = op(a) op(b) (+ c if accumulate), row-major with leading dimensions. op transposes when asked: a
/// transposed a is stored (k, m).
struct Gemm {
  bool transpose_a, transpose_b, accumulate;
  int64_t m, n, k, lda, ldb, ldc;
};
void gemm(const Gemm& g, const float* a, const float* b, float* c);
void gemm(const Gemm& g, const double* a, const double* b, double* c);
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c);
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
/// Our own, whatever is built in: an element of c does not depend on how a larger product is cut into rows and columns.
template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c);

}  // namespace tandem::kernels::cpu
