// Calls LAPACK once for each matrix of a batch. The matrices of a batch may be computed in parallel.
#include "tandem/kernels/lapack.h"

#include <algorithm>
#include <utility>

#include "tandem/kernels/cpu/lapack_calls.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

void pivots_to_permutation(const Tensor& pivots, Tensor& order) {
  const std::pair<int64_t, int64_t> sizes(order.size(1), pivots.size(1));
  const auto body = [](const std::pair<int64_t, int64_t>& s, const Loop& loop, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t* const rows = data<int64_t>(loop, 0) + i * s.first;
      const int32_t* const with = data<int32_t>(loop, 1) + i * s.second;
      for (int64_t r = 0; r < s.first; ++r) rows[r] = r;
      for (int64_t r = 0; r < s.second; ++r)
        if (with[r] >= 1 && with[r] <= s.first) std::swap(rows[r], rows[with[r] - 1]);
    }
  };
  run(plan_call("row_order", kInt64, {order}, {pivots}, sizes, body, order.size(0), 64));
}

#if TANDEM_HAS_LAPACK

bool has_lapack() { return true; }

namespace {

/// Sizes and flags of a LAPACK call. m and n are the numbers of rows and columns of the matrix, which is stored
/// column-major.
struct MatrixSizes {
  int64_t m = 0, n = 0, k = 0;
  char flags[3] = {};
  double rcond = 0;
  LeastSquaresDriver driver = LeastSquaresDriver::gels;
};
LapackInt to_lapack_int(int64_t v) { return static_cast<LapackInt>(v); }
/// Returns v as a leading dimension, which must be at least 1.
LapackInt leading_dimension(int64_t v) { return static_cast<LapackInt>(std::max<int64_t>(v, 1)); }
/// Calls each<T>(sizes, loop, i) for every matrix i of a batch, with T = float or double. `each` must be a lambda
/// without captures.
template <class Each>
void run_lapack(const char* op, DType dtype, TensorRefs writes, TensorRefs reads, const MatrixSizes& sizes,
                int64_t batch, Each /*each*/) {
  TANDEM_CHECK(dtype == kFloat32 || dtype == kFloat64, op, ": not implemented for '", dtype,
               "'; accepted: float32 and float64");
  const auto run_in = [&]<class T>() {
    const auto body = [](const MatrixSizes& s, const Loop& loop, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Each().template operator()<T>(s, loop, i);
    };
    run(plan_call(op, dtype, writes, reads, sizes, body, batch, 1));
  };
  dtype == kFloat32 ? run_in.template operator()<float>() : run_in.template operator()<double>();
}
/// Calls `call` twice: with a workspace length of -1, so that LAPACK returns the length it needs, and then with a
/// workspace of this length.
template <class T, class Call> void call_with_workspace(Call call) {
  T wanted = 0;
  call(&wanted, LapackInt(-1));
  std::vector<T> work(std::max<size_t>(static_cast<size_t>(wanted), 1));
  call(work.data(), to_lapack_int(static_cast<int64_t>(work.size())));
}

}  // namespace

void lu_factor(Tensor& a, Tensor& pivots, Tensor& info) {
  const MatrixSizes sizes{.m = a.size(2), .n = a.size(1)};
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    LapackInt failed = 0;
    const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), lda = leading_dimension(s.m);
    if (s.m > 0 && s.n > 0)
      Lapack<T>::getrf(&m, &n, data<T>(loop, 0) + i * s.m * s.n, &lda, data<int32_t>(loop, 1) + i * std::min(s.m, s.n),
                       &failed);
    data<int32_t>(loop, 2)[i] = failed;
  };
  run_lapack("lu_factor", a.dtype(), {a, pivots, info}, {a}, sizes, a.size(0), each);
}

void lu_solve(const Tensor& lu, const Tensor& pivots, Tensor& b) {
  const MatrixSizes sizes{.n = lu.size(1), .k = b.size(1)};
  if (b.numel() == 0) return;
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    LapackInt failed = 0;
    const LapackInt n = to_lapack_int(s.n), k = to_lapack_int(s.k), ld = leading_dimension(s.n);
    Lapack<T>::getrs("N", &n, &k, data<T>(loop, 1) + i * s.n * s.n, &ld, data<int32_t>(loop, 2) + i * s.n,
                     data<T>(loop, 0) + i * s.n * s.k, &ld, &failed, 1);
  };
  run_lapack("lu_solve", lu.dtype(), {b}, {lu, pivots, b}, sizes, b.size(0), each);
}

void cholesky(Tensor& a, bool upper, Tensor& info) {
  const MatrixSizes sizes{.n = a.size(1), .flags = {upper ? 'U' : 'L'}};
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    LapackInt failed = 0;
    const LapackInt n = to_lapack_int(s.n), ld = leading_dimension(s.n);
    if (n > 0) Lapack<T>::potrf(s.flags, &n, data<T>(loop, 0) + i * s.n * s.n, &ld, &failed, 1);
    data<int32_t>(loop, 1)[i] = failed;
  };
  run_lapack("cholesky", a.dtype(), {a, info}, {a}, sizes, a.size(0), each);
}

void triangular_solve(const Tensor& a, bool upper, bool unitriangular, Tensor& b) {
  const MatrixSizes sizes{.n = a.size(1), .k = b.size(1), .flags = {upper ? 'U' : 'L', unitriangular ? 'U' : 'N'}};
  if (b.numel() == 0) return;
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    const LapackInt n = to_lapack_int(s.n), k = to_lapack_int(s.k), ld = leading_dimension(s.n);
    // Calls trsm, because trtrs rejects a zero on the diagonal, for which PyTorch returns infinities.
    const T one = 1;
    Lapack<T>::trsm("L", &s.flags[0], "N", &s.flags[1], &n, &k, &one, data<T>(loop, 1) + i * s.n * s.n, &ld,
                    data<T>(loop, 0) + i * s.n * s.k, &ld, 1, 1, 1, 1);
  };
  run_lapack("triangular_solve", a.dtype(), {b}, {a, b}, sizes, b.size(0), each);
}

void geqrf(Tensor& a, Tensor& tau) {
  const MatrixSizes sizes{.m = a.size(2), .n = a.size(1), .k = tau.size(1)};
  if (tau.numel() == 0) return;
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    call_with_workspace<T>([&](T* work, LapackInt lwork) {
      LapackInt failed = 0;
      const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), ld = leading_dimension(s.m);
      Lapack<T>::geqrf(&m, &n, data<T>(loop, 0) + i * s.m * s.n, &ld, data<T>(loop, 1) + i * s.k, work, &lwork,
                       &failed);
    });
  };
  run_lapack("geqrf", a.dtype(), {a, tau}, {a}, sizes, a.size(0), each);
}

void orgqr(Tensor& a, const Tensor& tau) {
  const MatrixSizes sizes{.m = a.size(2), .n = a.size(1), .k = tau.size(1)};
  if (a.numel() == 0) return;
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    call_with_workspace<T>([&](T* work, LapackInt lwork) {
      LapackInt failed = 0;
      const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), k = to_lapack_int(s.k),
                      ld = leading_dimension(s.m);
      Lapack<T>::orgqr(&m, &n, &k, data<T>(loop, 0) + i * s.m * s.n, &ld, data<T>(loop, 1) + i * s.k, work, &lwork,
                       &failed);
    });
  };
  run_lapack("orgqr", a.dtype(), {a}, {tau, a}, sizes, a.size(0), each);
}

void ormqr(const Tensor& a, const Tensor& tau, bool left, bool transpose, Tensor& c) {
  // LAPACK reads only the k columns of a that hold reflectors.
  const MatrixSizes sizes{
      .m = c.size(2), .n = c.size(1), .k = tau.size(1), .flags = {left ? 'L' : 'R', transpose ? 'T' : 'N'}};
  if (c.numel() == 0 || sizes.k == 0) return;
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    const int64_t rows = s.flags[0] == 'L' ? s.m : s.n;
    call_with_workspace<T>([&](T* work, LapackInt lwork) {
      LapackInt failed = 0;
      const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), k = to_lapack_int(s.k),
                      lda = leading_dimension(rows), ldc = leading_dimension(s.m);
      Lapack<T>::ormqr(&s.flags[0], &s.flags[1], &m, &n, &k, data<T>(loop, 1) + i * rows * s.k, &lda,
                       data<T>(loop, 2) + i * s.k, data<T>(loop, 0) + i * s.m * s.n, &ldc, work, &lwork, &failed, 1, 1);
    });
  };
  run_lapack("ormqr", a.dtype(), {c}, {a, tau, c}, sizes, c.size(0), each);
}

void svd(Tensor& a, Tensor& u, Tensor& s, Tensor& vt, Tensor& info) {
  const bool vectors = u.defined();
  MatrixSizes sizes{.m = a.size(2), .n = a.size(1), .k = std::min(a.size(1), a.size(2)), .flags = {'N'}};
  if (vectors) sizes.flags[0] = u.size(1) == sizes.m && vt.size(2) == sizes.n ? 'A' : 'S';
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    const bool all = s.flags[0] == 'A';
    const int64_t columns = all ? s.m : s.k, rows = all ? s.n : s.k;
    std::vector<LapackInt> iwork(static_cast<size_t>(8 * s.k + 1));
    LapackInt failed = 0;
    T* const u = data<T>(loop, 2);
    T* const vt = data<T>(loop, 3);
    call_with_workspace<T>([&](T* work, LapackInt lwork) {
      const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), lda = leading_dimension(s.m),
                      ldv = leading_dimension(rows);
      Lapack<T>::gesdd(s.flags, &m, &n, data<T>(loop, 0) + i * s.m * s.n, &lda, data<T>(loop, 1) + i * s.k,
                       u ? u + i * s.m * columns : work, &lda, vt ? vt + i * rows * s.n : work, &ldv, work, &lwork,
                       iwork.data(), &failed, 1);
    });
    data<int32_t>(loop, 4)[i] = failed;
  };
  run_lapack("svd", a.dtype(), {a, s, u, vt, info}, {a}, sizes, a.size(0), each);
}

void eigh(Tensor& a, bool upper, bool vectors, Tensor& w, Tensor& info) {
  const MatrixSizes sizes{.n = a.size(1), .flags = {vectors ? 'V' : 'N', upper ? 'U' : 'L'}};
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    LapackInt failed = 0, iwork_size = 1, size_query = -1;
    const LapackInt n = to_lapack_int(s.n), ld = leading_dimension(s.n);
    const auto call = [&](T* work, LapackInt lwork, LapackInt* iwork, const LapackInt* liwork) {
      Lapack<T>::syevd(&s.flags[0], &s.flags[1], &n, data<T>(loop, 0) + i * s.n * s.n, &ld, data<T>(loop, 1) + i * s.n,
                       work, &lwork, iwork, liwork, &failed, 1, 1);
    };
    T wanted = 0;
    call(&wanted, -1, &iwork_size, &size_query);
    std::vector<T> work(static_cast<size_t>(wanted) + 1);
    std::vector<LapackInt> iwork(static_cast<size_t>(iwork_size));
    call(work.data(), to_lapack_int(static_cast<int64_t>(work.size())), iwork.data(), &iwork_size);
    data<int32_t>(loop, 2)[i] = failed;
  };
  run_lapack("eigh", a.dtype(), {a, w, info}, {a}, sizes, a.size(0), each);
}

void least_squares(LeastSquaresDriver driver, double rcond, Tensor& a, Tensor& b, Tensor& s, Tensor& rank,
                   Tensor& info) {
  const MatrixSizes sizes{
      .m = a.size(2), .n = a.size(1), .k = b.size(1), .flags = {}, .rcond = rcond, .driver = driver};
  const auto each = []<class T>(const MatrixSizes& s, const Loop& loop, int64_t i) {
    const int64_t tall = std::max(s.m, s.n), small = std::min(s.m, s.n);
    LapackInt failed = 0, found = 0;
    const LapackInt m = to_lapack_int(s.m), n = to_lapack_int(s.n), k = to_lapack_int(s.k),
                    lda = leading_dimension(s.m), ldb = leading_dimension(tall);
    T *const a = data<T>(loop, 0) + i * s.m * s.n, *const b = data<T>(loop, 1) + i * tall * s.k;
    T* const singular = data<T>(loop, 2) + i * small;
    const T rcond = static_cast<T>(s.rcond);
    std::vector<LapackInt> iwork(static_cast<size_t>(s.n), 0);  // column pivots for gelsy: 0 lets gelsy move the column
    LapackInt iwork_size = 0;
    call_with_workspace<T>([&](T* work, LapackInt lwork) {
      switch (s.driver) {
        case LeastSquaresDriver::gels:
          Lapack<T>::gels("N", &m, &n, &k, a, &lda, b, &ldb, work, &lwork, &failed, 1);
          break;
        case LeastSquaresDriver::gelsy:
          Lapack<T>::gelsy(&m, &n, &k, a, &lda, b, &ldb, iwork.data(), &rcond, &found, work, &lwork, &failed);
          break;
        case LeastSquaresDriver::gelss:
          Lapack<T>::gelss(&m, &n, &k, a, &lda, b, &ldb, singular, &rcond, &found, work, &lwork, &failed);
          break;
        case LeastSquaresDriver::gelsd:
          if (lwork != -1) iwork.resize(static_cast<size_t>(iwork_size) + 1);
          Lapack<T>::gelsd(&m, &n, &k, a, &lda, b, &ldb, singular, &rcond, &found, work, &lwork,
                           lwork == -1 ? &iwork_size : iwork.data(), &failed);
          break;
      }
    });
    data<int64_t>(loop, 3)[i] = found;
    data<int32_t>(loop, 4)[i] = failed;
  };
  run_lapack("least_squares", a.dtype(), {a, b, s, rank, info}, {a, b}, sizes, a.size(0), each);
}

#else

[[noreturn]] static void throw_without_lapack() {
  TANDEM_CHECK_AS(NotImplementedError, false,
                  "this build has no LAPACK, which matrix factorizations and solvers need; install OpenBLAS "
                  "(on Debian: apt install libopenblas-dev) and configure again without TANDEM_WITH_OPENBLAS=OFF");
  throw 0;
}
bool has_lapack() { return false; }
void lu_factor(Tensor&, Tensor&, Tensor&) { throw_without_lapack(); }
void lu_solve(const Tensor&, const Tensor&, Tensor&) { throw_without_lapack(); }
void cholesky(Tensor&, bool, Tensor&) { throw_without_lapack(); }
void triangular_solve(const Tensor&, bool, bool, Tensor&) { throw_without_lapack(); }
void geqrf(Tensor&, Tensor&) { throw_without_lapack(); }
void orgqr(Tensor&, const Tensor&) { throw_without_lapack(); }
void ormqr(const Tensor&, const Tensor&, bool, bool, Tensor&) { throw_without_lapack(); }
void svd(Tensor&, Tensor&, Tensor&, Tensor&, Tensor&) { throw_without_lapack(); }
void eigh(Tensor&, bool, bool, Tensor&, Tensor&) { throw_without_lapack(); }
void least_squares(LeastSquaresDriver, double, Tensor&, Tensor&, Tensor&, Tensor&, Tensor&) { throw_without_lapack(); }

#endif

}  // namespace tandem::kernels::cpu
