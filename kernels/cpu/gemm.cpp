// gemm: chooses between Tandem's own loops, OpenBLAS and oneDNN by dtype, layout and size.
#include "tandem/kernels/cpu/gemm.h"

#include <algorithm>
#include <utility>

#include "tandem/core/threads/library_calls.h"
#include "tandem/core/threads/thread_kept.h"
#include "tandem/kernels/cpu/isa.h"
#include "tandem/kernels/types.h"

#if TANDEM_HAS_OPENBLAS
#include <cblas.h>
#endif

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(gemm_rows)
TANDEM_DECLARE_LOOP(gemm_few_rows)
TANDEM_DECLARE_LOOP(gemm_in_order)

namespace {
/// c = a b by our own loop; `turned`: c is written as its transpose.
template <class T> void run_native(const Gemm& g, const T* a, const T* b, T* c, bool turned) {
  // A block of a, a panel of b and a block of c, as the loop cuts them, for as long as the thread lives.
  constexpr size_t kRoom = ((512 + 48) * 256 + 512 * 480) * sizeof(Upcast<T>);
  struct Room {
    alignas(64) char bytes[kRoom];
  };
  const auto bytes = [](const T* p) { return reinterpret_cast<char*>(const_cast<T*>(p)); };
  const Buffer buffers[] = {{bytes(c)}, {bytes(a)}, {bytes(b)}, {ThreadKept<Room>::get().bytes}};
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
                             g.accumulate,
                             turned};
  for (int i = 0; i < 9; ++i) loop.scalars[i].integer = numbers[i];
  pick(loops::gemm_rows, dtype_of<T>(), "gemm")(loop, 0, g.m);
}
}  // namespace
template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c) { run_native(g, a, b, c, false); }
template void native_gemm(const Gemm& g, const float* a, const float* b, float* c);
template void native_gemm(const Gemm& g, const double* a, const double* b, double* c);
template void native_gemm(const Gemm& g, const Half* a, const Half* b, Half* c);
template void native_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c) { native_gemm(g, a, b, c); }
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c) {
  // Small products are done before oneDNN has begun.
  onednn_multiplies_bfloat16() && g.m* g.n* g.k >= 200'000 ? onednn_gemm(g, a, b, c) : native_gemm(g, a, b, c);
}

namespace {
/// Products of rows with rows, as those of a linear layer's inputs and weights: a library packs both operands, ours
/// reads one where it lies. @return whether it was done
bool through_rows(const Gemm& g, const float* a, const float* b, float* c) {
  const CpuIsa isa = cpu_isa();
  if (!g.transpose_b || g.transpose_a || std::min(g.m, g.n) < 16 || g.m * g.n * g.k < 200'000) return false;
  if (isa != CpuIsa::v4 && isa != CpuIsa::v3) return false;
  if (2 * g.m <= g.n)  // of the two, that with more rows is not packed
    run_native(Gemm{false, true, g.accumulate, g.n, g.m, g.k, g.ldb, g.lda, g.ldc}, b, a, c, true);
  else if (isa == CpuIsa::v4)
    native_gemm(g, a, b, c);
  else
    return false;  // with AVX2 libraries are as fast
  return true;
}

/// A loop over c, a and b with scalars, in one call.
template <size_t N>
void run_loop(const LoopTables& rows, const float* a, const float* b, float* c, const int64_t (&scalars)[N],
              int64_t range) {
  const auto bytes = [](const float* p) { return reinterpret_cast<char*>(const_cast<float*>(p)); };
  const Buffer buffers[] = {{bytes(c)}, {bytes(a)}, {bytes(b)}};
  Loop loop{};
  loop.dtype = kFloat32;
  for (int i = 0; i < 3; ++i) loop.operands[i].buffer = &buffers[i];
  for (size_t i = 0; i < N; ++i) loop.scalars[i].integer = scalars[i];
  pick(rows, kFloat32, "gemm")(loop, 0, range);
}
/// Fewer rows of a than two tiles have, by rows of b: both are read where they lie.
void few_by_rows(const Gemm& g, const float* a, const float* b, float* c) {
  run_loop(loops::gemm_few_rows, a, b, c, {g.m, g.k, g.lda, g.ldb, g.ldc, g.accumulate}, g.n);
}
/// Transposed few rows of a by rows of b: a is copied, some columns at a time.
void few_turned_by_rows(const Gemm& g, const float* a, const float* b, float* c) {
  constexpr int64_t kRoom = 16384;
  float turned[kRoom];
  for (int64_t p = 0; p < g.k; p += kRoom / g.m) {
    const int64_t depth = std::min(g.k - p, kRoom / g.m);
    for (int64_t q = 0; q < depth; ++q)
      for (int64_t i = 0; i < g.m; ++i) turned[i * depth + q] = a[(p + q) * g.lda + i];
    few_by_rows({false, true, g.accumulate || p > 0, g.m, g.n, depth, depth, g.ldb, g.ldc}, turned, b + p, c);
  }
}
/// Fewer rows of a than two tiles have, and rows of a by one column: how fast the larger operand is read bounds them,
/// so that it is read once, in order and where it lies, with AVX2 and AVX-512 alike. @return whether it was done
bool through_few(const Gemm& g, const float* a, const float* b, float* c) {
  if (g.m * g.n * g.k < 500'000) return false;
  if (g.m >= 16) {
    if (g.n != 1 || g.transpose_a || g.ldc != 1 || (!g.transpose_b && g.ldb != 1)) return false;
    few_by_rows({false, true, g.accumulate, 1, g.m, g.k, g.k, g.lda, g.m}, b, a, c);
  } else if (g.transpose_b) {
    (g.transpose_a ? few_turned_by_rows : few_by_rows)(g, a, b, c);
  } else {
    if (g.n < 96) return false;  // the loop's tiles are no wider
    const auto [row, column] = g.transpose_a ? std::pair(int64_t(1), g.lda) : std::pair(g.lda, int64_t(1));
    run_loop(loops::gemm_in_order, a, b, c, {g.n, g.k, row, column, g.ldb, g.ldc, g.accumulate}, g.m);
  }
  return true;
}

// oneDNN's sgemm is not among the choices: its kernels keep the address of heap memory in the stack pointer, and a
// signal that arrives meanwhile writes its frame there.
/// Our own product beyond the sizes that OpenBLAS has small kernels for, unless c is narrow: OpenBLAS takes 1.1 to 1.4
/// times as long there, with AVX2 and AVX-512 alike. @return whether it was done
bool through_own(const Gemm& g, const float* a, const float* b, float* c) {
  if (through_rows(g, a, b, c) || through_few(g, a, b, c)) return true;
  if (g.m * g.n * g.k < 500'000 || g.n < 4 || (g.n < 96 && g.m < 512)) return false;
  native_gemm(g, a, b, c);
  return true;
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
    if (through_own(g, a, b, c)) return;
    if (native_is_faster(g)) return native_gemm(g, a, b, c);
  }
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const auto i = [](int64_t v) { return static_cast<blasint>(v); };
  const auto lead = [](int64_t v) { return static_cast<blasint>(std::max<int64_t>(v, 1)); };
  const LibraryCall inside(Ending::libraries_ended);
  call(CblasRowMajor, order(g.transpose_a), order(g.transpose_b), i(g.m), i(g.n), i(g.k), T(1), a, lead(g.lda), b,
       lead(g.ldb), T(g.accumulate), c, lead(g.ldc));
}
}  // namespace

void gemm(const Gemm& g, const float* a, const float* b, float* c) { through_blas(g, a, b, c, cblas_sgemm); }
void gemm(const Gemm& g, const double* a, const double* b, double* c) { through_blas(g, a, b, c, cblas_dgemm); }

#else

void gemm(const Gemm& g, const float* a, const float* b, float* c) {
  if (!through_own(g, a, b, c)) native_gemm(g, a, b, c);
}
void gemm(const Gemm& g, const double* a, const double* b, double* c) { native_gemm(g, a, b, c); }

#endif

}  // namespace tandem::kernels::cpu
