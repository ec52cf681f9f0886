#include "tandem/kernels/cpu/gemm.h"

#include <algorithm>
#include <memory>

#include "tandem/kernels/cpu/isa.h"

#if TANDEM_HAS_OPENBLAS
#include <cblas.h>
#endif
#if TANDEM_HAS_ONEDNN
#include "tandem/kernels/cpu/onednn.h"
#endif

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(gemm_rows)

template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c) {
  // A block of a and a panel of b, as the loop cuts them, for as long as the thread lives. Of floats there is room for
  // a block of c too.
  constexpr size_t kRoom = (512 + 48) * 256 * sizeof(double) + 64;
  thread_local const std::unique_ptr<char[]> room(new char[kRoom]);
  char* const aligned = room.get() + -reinterpret_cast<uintptr_t>(room.get()) % 64;
  const auto bytes = [](const T* p) { return reinterpret_cast<char*>(const_cast<T*>(p)); };
  const Buffer buffers[] = {{bytes(c)}, {bytes(a)}, {bytes(b)}, {aligned}};
  Loop loop{};
  loop.dtype = dtype_of<T>();
  for (int i = 0; i < 4; ++i) loop.operands[i].buffer = &buffers[i];
  const int64_t numbers[] = {g.n,
                             g.k,
                             g.transpose_a ? 1 : g.lda,
                             g.transpose_a ? g.lda : 1,
                             g.transpose_b ? 1 : g.ldb,
                             g.transpose_b ? g.ldb : 1,
                             g.ldc,
                             g.accumulate};
  for (int i = 0; i < 8; ++i) loop.scalars[i].integer = numbers[i];
  pick(loops::gemm_rows, dtype_of<T>(), "gemm")(loop, 0, g.m);
}
template void native_gemm(const Gemm& g, const float* a, const float* b, float* c);
template void native_gemm(const Gemm& g, const double* a, const double* b, double* c);
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c) { native_gemm(g, a, b, c); }
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c) {
  // Small products are done before oneDNN has begun.
  onednn_multiplies_bfloat16() && g.m* g.n* g.k >= 200'000 ? onednn_gemm(g, a, b, c) : native_gemm(g, a, b, c);
}

namespace {
/// Columns [first, first + columns) of c = or += the transpose of `from`, whose rows are as long as c has rows.
void take_transposed(const float* from, const Gemm& g, int64_t first, int64_t columns, float* c) {
  constexpr int64_t kBlock = 16;  // of both, so that their lines stay in the nearest cache
  for (int64_t row = 0; row < g.m; row += kBlock)
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t rows = std::min(kBlock, g.m - row), count = std::min(kBlock, columns - column);
      for (int64_t i = row; i < row + rows; ++i)
        for (int64_t j = column; j < column + count; ++j) {
          float& to = c[i * g.ldc + first + j];
          to = from[j * g.m + i] + (g.accumulate ? to : 0);
        }
    }
}
/// Products of rows with rows, as those of a linear layer's inputs and weights: a library packs both operands, ours
/// reads one where it lies. @return whether it was done
bool through_rows(const Gemm& g, const float* a, const float* b, float* c) {
  const CpuIsa isa = cpu_isa();
  if (!g.transpose_b || g.transpose_a || g.m * g.n * g.k < 2'000'000) return false;
  if (isa != CpuIsa::v4 && isa != CpuIsa::v3) return false;
  if (2 * g.m > g.n) {
    if (isa != CpuIsa::v4) return false;  // with AVX2 libraries are as fast
    native_gemm(g, a, b, c);
    return true;
  }
  // Of the two, that with more rows is not packed: the transpose of c, strip by strip.
  constexpr int64_t kStrip = 512;
  thread_local std::unique_ptr<float[]> room;
  thread_local int64_t held = 0;
  if (held < g.m * kStrip) room.reset(new float[static_cast<size_t>(g.m * kStrip)]), held = g.m * kStrip;
  for (int64_t first = 0; first < g.n; first += kStrip) {
    const int64_t columns = std::min(kStrip, g.n - first);
    native_gemm(Gemm{false, true, false, columns, g.m, g.k, g.ldb, g.lda, g.m}, b + first * g.ldb, a, room.get());
    take_transposed(room.get(), g, first, columns, c);
  }
  return true;
}

/// oneDNN's product where it was measured to be the faster, with AVX2 and AVX-512 alike: beyond sizes that OpenBLAS has
/// small kernels for, unless c is narrow. @return whether it was done
bool through_onednn([[maybe_unused]] const Gemm& g, [[maybe_unused]] const float* a, [[maybe_unused]] const float* b,
                    [[maybe_unused]] float* c) {
#if TANDEM_HAS_ONEDNN
  if (g.m * g.n * g.k < 500'000 || (g.n < 96 && g.m < 512)) return false;
  const OneOpenMpThread one;
  return dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, g.k, 1, a, g.lda, b, g.ldb,
                    g.accumulate ? 1.F : 0.F, c, g.ldc) == dnnl_success;
#else
  return false;
#endif
}
}  // namespace

#if TANDEM_HAS_OPENBLAS

namespace {
// The library's own threads would make results depend on their number, and fight ours for the cores.
const bool single_threaded = (openblas_set_num_threads(1), true);

/// Where our own was measured to be the faster: with AVX-512, float32, above the sizes that OpenBLAS has small kernels
/// for (100 cubed), and below those where a block of a is packed again too often.
bool native_is_faster(const Gemm& g) {
  static const bool avx512 = cpu_isa() == CpuIsa::v4;
  const int64_t work = g.m * g.n * g.k;
  return avx512 && std::min(g.m, g.n) >= 16 && work > 1'000'000 && work <= 32'000'000;
}

template <class T, class Call> void through_blas(const Gemm& g, const T* a, const T* b, T* c, Call call) {
  if (g.m == 0 || g.n == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (through_rows(g, a, b, c) || through_onednn(g, a, b, c)) return;
    if (native_is_faster(g)) return native_gemm(g, a, b, c);
  }
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const auto i = [](int64_t v) { return static_cast<blasint>(v); };
  const auto lead = [](int64_t v) { return static_cast<blasint>(std::max<int64_t>(v, 1)); };
  call(CblasRowMajor, order(g.transpose_a), order(g.transpose_b), i(g.m), i(g.n), i(g.k), T(1), a, lead(g.lda), b,
       lead(g.ldb), T(g.accumulate), c, lead(g.ldc));
}
}  // namespace

void gemm(const Gemm& g, const float* a, const float* b, float* c) { through_blas(g, a, b, c, cblas_sgemm); }
void gemm(const Gemm& g, const double* a, const double* b, double* c) { through_blas(g, a, b, c, cblas_dgemm); }

#else

void gemm(const Gemm& g, const float* a, const float* b, float* c) {
  if (!through_rows(g, a, b, c) && !through_onednn(g, a, b, c)) native_gemm(g, a, b, c);
}
void gemm(const Gemm& g, const double* a, const double* b, double* c) { native_gemm(g, a, b, c); }

#endif

}  // namespace tandem::kernels::cpu
