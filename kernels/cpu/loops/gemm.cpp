// Our own matrix product, for builds without OpenBLAS: rows of c in blocks of four, columns in tiles, along k.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// c (rows, columns) tile from kRows rows of a. The sum runs along k in order, whatever the tile.
template <class T, int kRows>
void rows_of(const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t n, int64_t k, bool add) {
  constexpr int64_t kWidth = 64;
  for (int64_t j = 0; j < n; j += kWidth) {
    const int64_t width = n - j < kWidth ? n - j : kWidth;
    T acc[kRows][kWidth];
    for (int r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < width; ++i) acc[r][i] = add ? c[r * ldc + j + i] : T(0);
    for (int64_t p = 0; p < k; ++p) {
      const T* const row = b + p * ldb + j;
      for (int r = 0; r < kRows; ++r) {
        const T factor = a[r * lda + p];
        TANDEM_IVDEP
        for (int64_t i = 0; i < width; ++i) acc[r][i] += factor * row[i];
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int64_t i = 0; i < width; ++i) c[r * ldc + j + i] = acc[r][i];
  }
}

template <class T> void gemm_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, k = loop.scalars[1].integer, lda = loop.scalars[2].integer,
                ldb = loop.scalars[3].integer, ldc = loop.scalars[4].integer;
  const bool add = loop.scalars[5].integer;
  T* const c = reinterpret_cast<T*>(loop.operands[0].buffer->data);
  const T* const a = as<T>(loop.operands[1].buffer->data);
  const T* const b = as<T>(loop.operands[2].buffer->data);
  int64_t i = begin;
  for (; i + 4 <= end; i += 4) rows_of<T, 4>(a + i * lda, lda, b, ldb, c + i * ldc, ldc, n, k, add);
  for (; i < end; ++i) rows_of<T, 1>(a + i * lda, lda, b, ldb, c + i * ldc, ldc, n, k, add);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_ROW(gemm_rows, gemm_body<float>, gemm_body<double>)
