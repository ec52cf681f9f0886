// Implements gemm. Lists the implementations for each dtype: Tandem's own loops, OpenBLAS and oneDNN.
#include "tandem/kernels/cpu/gemm.h"

#include <algorithm>
#include <utility>

#include "tandem/core/threads/delay_exit_guard.h"
#include "tandem/core/threads/late_thread_local.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/types.h"

#if TANDEM_HAS_OPENBLAS
#include <cblas.h>
#endif

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(gemm_rows)
TANDEM_DECLARE_LOOP(gemm_small_m)
TANDEM_DECLARE_LOOP(gemm_small_m_row_major_b)

namespace {
/// Computes c = a b with Tandem's own loop. If `transposed`, writes the transpose of a b to c.
template <class T> void run_native_gemm(const Gemm& g, const T* a, const T* b, T* c, bool transposed) {
  // Bytes of scratch memory for a block of a, a panel of b and a block of c, with the block sizes of loops/gemm.cpp.
  // Each thread keeps this memory until it ends.
  constexpr size_t kScratchSize = ((512 + 48) * 256 + 512 * 480) * sizeof(OpMath<T>);
  struct Scratch {
    alignas(64) char bytes[kScratchSize];
  };
  call_loop(select_body(loops::gemm_rows, dtype_of<T>(), "gemm"), dtype_of<T>(),
            {c, a, b, LateThreadLocal<Scratch>::get().bytes},
            {integer(g.n), integer(g.k), integer(g.transpose_a ? 1 : g.lda), integer(g.transpose_a ? g.lda : 1),
             integer(g.transpose_b ? 1 : g.ldb), integer(g.transpose_b ? g.ldb : 1), integer(g.ldc),
             integer(g.accumulate), integer(transposed)},
            g.m);
}
}  // namespace
template <class T> void native_gemm(const Gemm& g, const T* a, const T* b, T* c) { run_native_gemm(g, a, b, c, false); }
template void native_gemm(const Gemm& g, const float* a, const float* b, float* c);
template void native_gemm(const Gemm& g, const double* a, const double* b, double* c);
template void native_gemm(const Gemm& g, const Half* a, const Half* b, Half* c);
template void native_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c);

namespace {
// The implementations of gemm for particular problems follow. Each returns whether it has computed c.

template <class T> bool tiled_gemm(const Gemm& g, const T* a, const T* b, T* c) {
  native_gemm(g, a, b, c);
  return true;
}
/// Computes the transpose of c with Tandem's tiles, so that the factor with more rows is read in place and the other
/// factor is packed.
bool transposed_tiled_gemm(const Gemm& g, const float* a, const float* b, float* c) {
  run_native_gemm(Gemm{false, true, g.accumulate, g.n, g.m, g.k, g.ldb, g.lda, g.ldc}, b, a, c, true);
  return true;
}
/// Computes c = a b^T for an a with few rows and a b that is stored as (n, k). Reads a and b in place.
bool gemm_small_m_nt(const Gemm& g, const float* a, const float* b, float* c) {
  call_loop(select_body(loops::gemm_small_m, kFloat32, "gemm"), kFloat32, {c, a, b},
            {integer(g.m), integer(g.k), integer(g.lda), integer(g.ldb), integer(g.ldc), integer(g.accumulate)}, g.n);
  return true;
}
/// Computes c = a b^T for an a with few rows that is stored as its transpose. Copies and transposes part of a at a
/// time.
bool gemm_small_m_tt(const Gemm& g, const float* a, const float* b, float* c) {
  constexpr int64_t kScratchSize = 16384;
  float transposed[kScratchSize];
  for (int64_t p = 0; p < g.k; p += kScratchSize / g.m) {
    const int64_t depth = std::min(g.k - p, kScratchSize / g.m);
    for (int64_t q = 0; q < depth; ++q)
      for (int64_t i = 0; i < g.m; ++i) transposed[i * depth + q] = a[(p + q) * g.lda + i];
    gemm_small_m_nt({false, true, g.accumulate || p > 0, g.m, g.n, depth, depth, g.ldb, g.ldc}, transposed, b + p, c);
  }
  return true;
}
/// Computes c = a b for an a with few rows and a row-major b. Reads b once, in memory order.
bool gemm_small_m_row_major_b(const Gemm& g, const float* a, const float* b, float* c) {
  call_loop(select_body(loops::gemm_small_m_row_major_b, kFloat32, "gemm"), kFloat32, {c, a, b},
            {integer(g.n), integer(g.k), integer(g.transpose_a ? 1 : g.lda), integer(g.transpose_a ? g.lda : 1),
             integer(g.ldb), integer(g.ldc), integer(g.accumulate)},
            g.m);
  return true;
}
/// Computes a matrix-vector product: the rows of a by the single column of b.
bool gemv(const Gemm& g, const float* a, const float* b, float* c) {
  return gemm_small_m_nt({false, true, g.accumulate, 1, g.m, g.k, g.k, g.lda, g.m}, b, a, c);
}

#if TANDEM_HAS_OPENBLAS
// OpenBLAS runs in one thread. With more threads, results would depend on their number, and the threads would compete
// with Tandem's for the cores.
const bool openblas_is_single_threaded = (openblas_set_num_threads(1), true);

template <class T> bool openblas_gemm(const Gemm& g, const T* a, const T* b, T* c) {
  if (g.m == 0 || g.n == 0) return true;
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  const auto i = [](int64_t v) { return static_cast<blasint>(v); };
  const auto lead = [](int64_t v) { return static_cast<blasint>(std::max<int64_t>(v, 1)); };
  const auto call = [&](auto function) {
    function(CblasRowMajor, order(g.transpose_a), order(g.transpose_b), i(g.m), i(g.n), i(g.k), T(1), a, lead(g.lda), b,
             lead(g.ldb), T(g.accumulate), c, lead(g.ldc));
  };
  const DelayExitGuard inside(ExitStage::libraries_ended);
  if constexpr (std::is_same_v<T, float>)
    call(cblas_sgemm);
  else
    call(cblas_dgemm);
  return true;
}
#else
template <class T> bool openblas_gemm(const Gemm&, const T*, const T*, T*) { return false; }
#endif

// The conditions of the implementations follow. They are declared inline because the lists below hold their addresses,
// and otherwise the compiler would not inline them.

inline int64_t num_multiplications(const Gemm& g) { return g.m * g.n * g.k; }
/// Returns whether g multiplies rows of a by rows of b, as a linear layer multiplies inputs by weights. A library packs
/// both operands; Tandem's tiles read one of them in place.
inline bool is_nt_product(const Gemm& g) {
  return g.transpose_b && !g.transpose_a && std::min(g.m, g.n) >= 16 && num_multiplications(g) >= 200'000;
}
inline bool is_wide_nt_product(const Gemm& g) {
  return is_nt_product(g) && 2 * g.m <= g.n && (cpu_isa() == CpuIsa::v4 || cpu_isa() == CpuIsa::v3);
}
// If a has fewer rows than two tiles, or b is a single column, most of the time goes into reading the larger operand.
// The implementations for these cases read it once, in place, and are used with AVX2 and AVX-512 alike.
inline bool is_large(const Gemm& g) { return num_multiplications(g) >= 500'000; }
// A product of up to four rows, such as a linear layer computes for one token, takes OpenBLAS two to seven times as
// long even if it is small, because OpenBLAS packs b.
inline bool has_few_rows(const Gemm& g) {
  return (g.m < 16 && is_large(g)) || (g.m <= 4 && num_multiplications(g) >= 4096);
}
inline bool is_small_m_nt(const Gemm& g) { return has_few_rows(g) && g.transpose_b && !g.transpose_a; }
inline bool is_small_m_tt(const Gemm& g) { return is_large(g) && g.m < 16 && g.transpose_b && g.transpose_a; }
inline bool is_small_m_row_major_b(const Gemm& g) {
  // 96 is the number of columns of the widest tile of c. Narrower products would read past the rows of b.
  return has_few_rows(g) && !g.transpose_b && g.n >= 96;
}
inline bool is_gemv(const Gemm& g) {
  return is_large(g) && g.m >= 16 && g.n == 1 && !g.transpose_a && g.ldc == 1 && (g.transpose_b || g.ldb == 1);
}
/// Returns whether Tandem's tiles are faster than OpenBLAS, as measured. OpenBLAS has special kernels for small
/// products. For large products it takes 1.1 to 1.4 times as long as the tiles unless c is narrow, and it packs both
/// operands when rows are multiplied by rows. With AVX-512 the tiles are also faster for medium sizes: more than 100
/// cubed multiplications, and few enough that blocks of a are not packed again too often.
inline bool prefers_tiled_gemm(const Gemm& g) {
  if (is_large(g) && g.n >= 4 && (g.n >= 96 || g.m >= 512)) return true;
  const int64_t work = num_multiplications(g);
  const bool medium = std::min(g.m, g.n) >= 16 && work > 1'000'000 && work <= 32'000'000;
  return (medium || is_nt_product(g)) && cpu_isa() == CpuIsa::v4;
}
inline bool prefers_onednn(const Gemm& g) {  // a smaller product takes less time than oneDNN needs to start
  return onednn_supports_bfloat16() && num_multiplications(g) >= 200'000;
}

// oneDNN's sgemm is in none of these lists: its kernels keep the address of heap memory in the stack pointer, so a
// signal that arrives while they run writes its frame into the heap.
template <class T>
constexpr GemmImplementation<T> kGemmImplementations[] = {{"OpenBLAS", supports_every_problem, openblas_gemm},
                                                          {"tiles", supports_every_problem, tiled_gemm}};
template <>
constexpr GemmImplementation<float> kGemmImplementations<float>[] = {
    {"transposed tiles", is_wide_nt_product, transposed_tiled_gemm},
    {"few rows by rows", is_small_m_nt, gemm_small_m_nt},
    {"few transposed rows by rows", is_small_m_tt, gemm_small_m_tt},
    {"few rows in order", is_small_m_row_major_b, gemm_small_m_row_major_b},
    {"rows by a column", is_gemv, gemv},
    {"tiles", prefers_tiled_gemm, tiled_gemm},
    {"OpenBLAS", supports_every_problem, openblas_gemm},
    {"tiles", supports_every_problem, tiled_gemm},
};
template <>
constexpr GemmImplementation<BFloat16> kGemmImplementations<BFloat16>[] = {
    {"oneDNN", prefers_onednn, onednn_gemm},
    {"tiles", supports_every_problem, tiled_gemm},
};
}  // namespace

template <class T> std::span<const GemmImplementation<T>> gemm_implementations() { return kGemmImplementations<T>; }
template std::span<const GemmImplementation<float>> gemm_implementations();
template std::span<const GemmImplementation<double>> gemm_implementations();
template std::span<const GemmImplementation<BFloat16>> gemm_implementations();

void gemm(const Gemm& g, const float* a, const float* b, float* c) {
  run_first_supported<kGemmImplementations<float>>(g, a, b, c);
}
void gemm(const Gemm& g, const double* a, const double* b, double* c) {
  run_first_supported<kGemmImplementations<double>>(g, a, b, c);
}
void gemm(const Gemm& g, const Half* a, const Half* b, Half* c) { native_gemm(g, a, b, c); }
void gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c) {
  run_first_supported<kGemmImplementations<BFloat16>>(g, a, b, c);
}

}  // namespace tandem::kernels::cpu
