// Matrix product in the calling thread. Large float products use Tandem's own loops, because they are faster; small
// float products and all double products use OpenBLAS if it is built in. Large bfloat16 products use oneDNN if the
// processor has bfloat16 instructions. All other products of half types use Tandem's loop. gemm.cpp has the full lists.
#pragma once
#include <compare>
#include <cstdint>
#include <span>

#include "tandem/core/half.h"
#include "tandem/kernels/implementation.h"

namespace tandem::kernels::cpu {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes and options of the matrix product c (m, n) = op(a) op(b), or c += op(a) op(b) if `accumulate`. Matrices are
/// row-major, with leading dimensions lda, ldb and ldc. transpose_a: a is stored as (k, m). transpose_b: b is stored as
/// (n, k).
struct Gemm {
  bool transpose_a, transpose_b, accumulate;
  int64_t m, n, k, lda, ldb, ldc;
  auto operator<=>(const Gemm&) const = default;
};
void gemm(const Gemm& g, const float* a, const float* b, float* c);
void gemm(const Gemm& g, const double* a, const double* b, double* c);
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c);
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
template <class T> using GemmImplementation = Implementation<bool, Gemm, const T*, const T*, T*>;
/// Returns the implementations that gemm chooses from, in the order in which they are tried. T is float, double or
/// BFloat16.
template <class T> std::span<const GemmImplementation<T>> gemm_implementations();
/// Returns whether oneDNN is built in and the processor has bfloat16 instructions, which onednn_gemm needs.
bool onednn_supports_bfloat16();
/// Computes a product by oneDNN. If oneDNN does not support the product, or exit() has begun, returns false and leaves
/// c unchanged.
bool onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
/// Computes a product by oneDNN or, if oneDNN does not support the product or exit() has begun, by Tandem's own loop.
void onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, float* c);
/// Tandem's own GEMM, used even if a library is built in. An element of c does not depend on how a larger product is
/// divided into rows and columns.
template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c);

}  // namespace tandem::kernels::cpu
