#include "tandem/kernels/cpu/gemm.h"

#include <algorithm>
#include <vector>

#include "tandem/kernels/cpu/isa.h"

#if TANDEM_HAS_OPENBLAS
#include <cblas.h>
#endif

namespace tandem::kernels::cpu {

#if TANDEM_HAS_OPENBLAS

namespace {
// The library's own threads would make results depend on their number, and fight ours for the cores.
const bool single_threaded = (openblas_set_num_threads(1), true);

template <class T, class Call> void through_blas(const Gemm& g, const T* a, const T* b, T* c, Call call) {
  if (g.m == 0 || g.n == 0) return;
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

TANDEM_DECLARE_LOOP(gemm_rows)
namespace {
/// Our own: transposed operands are laid straight first, so that the loop runs along rows.
template <class T> void own(const Gemm& g, const T* a, const T* b, T* c) {
  std::vector<T> straight_a, straight_b;
  const auto straighten = [](std::vector<T>& to, const T*& from, int64_t rows, int64_t cols, int64_t lead) {
    to.resize(static_cast<size_t>(rows * cols));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) to[static_cast<size_t>(i * cols + j)] = from[j * lead + i];
    from = to.data();
  };
  int64_t lda = g.lda, ldb = g.ldb;
  if (g.transpose_a) straighten(straight_a, a, g.m, g.k, lda), lda = g.k;
  if (g.transpose_b) straighten(straight_b, b, g.k, g.n, ldb), ldb = g.n;
  Loop loop{};
  const Buffer buffers[3] = {{reinterpret_cast<char*>(c)},
                             {reinterpret_cast<char*>(const_cast<T*>(a))},
                             {reinterpret_cast<char*>(const_cast<T*>(b))}};
  for (int i = 0; i < 3; ++i) loop.operands[i].buffer = &buffers[i];
  const int64_t numbers[] = {g.n, g.k, lda, ldb, g.ldc, g.accumulate};
  for (int i = 0; i < 6; ++i) loop.scalars[i].integer = numbers[i];
  pick(loops::gemm_rows, dtype_of<T>(), "gemm")(loop, 0, g.m);
}
}  // namespace
void gemm(const Gemm& g, const float* a, const float* b, float* c) { own(g, a, b, c); }
void gemm(const Gemm& g, const double* a, const double* b, double* c) { own(g, a, b, c); }

#endif

}  // namespace tandem::kernels::cpu
