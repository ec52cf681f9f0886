// Conversion between half types and float, for the loops that are compiled for float and double alone (elements.h).
#include "tandem/kernels/cpu/loops/elements.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Calls row(offset in memory, offset in the copy, count) for each row. Rows without gaps between them are treated as
/// one row.
template <class Row> void for_contiguous_rows(int64_t n, int64_t rows, int64_t stride, Row row) {
  if (stride == n) {
    n *= rows;
    rows = 1;
  }
  for (int64_t r = 0; r < rows; ++r) row(r * stride, r * n, n);
}
template <class T> void widen_as(const T* from, float* to, int64_t n, int64_t rows, int64_t stride) {
  for_contiguous_rows(n, rows, stride, [=](int64_t at, int64_t copy, int64_t count) {
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) to[copy + i] = float(from[at + i]);
  });
}
template <class T> void narrow_as(const float* from, T* to, int64_t n, int64_t rows, int64_t stride) {
  for_contiguous_rows(n, rows, stride, [=](int64_t at, int64_t copy, int64_t count) {
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) to[at + i] = T(from[copy + i]);
  });
}

}  // namespace

void widen(DType dtype, const char* from, float* to, int64_t n, int64_t rows, int64_t stride) {
  dtype == DType::float16 ? widen_as(as<Half>(from), to, n, rows, stride)
                          : widen_as(as<BFloat16>(from), to, n, rows, stride);
}
void narrow(DType dtype, const float* from, char* to, int64_t n, int64_t rows, int64_t stride) {
  dtype == DType::float16 ? narrow_as(from, reinterpret_cast<Half*>(to), n, rows, stride)
                          : narrow_as(from, reinterpret_cast<BFloat16*>(to), n, rows, stride);
}

}  // namespace tandem::kernels::cpu::TANDEM_ISA
