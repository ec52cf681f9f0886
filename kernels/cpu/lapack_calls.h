// LAPACK's Fortran routines in float and double, as members of `Lapack<T>`. Fortran passes the length of each character
// argument, here 1, at the end of the argument list. Routines implemented in C ignore these lengths.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/threads/delay_exit_guard.h"

namespace tandem::kernels::cpu {

#if TANDEM_HAS_LAPACK

/// LAPACK's integer type: 32 bits, as in Debian's OpenBLAS. (LAPACK builds with 64-bit integers have other symbol
/// names.)
using LapackInt = int32_t;

// clang-format off
#define TANDEM_LAPACK_ROUTINES(X, T, p) \
  X(p, getrf, (const LapackInt* m, const LapackInt* n, T* a, const LapackInt* lda, LapackInt* pivots, LapackInt* info)) \
  X(p, getrs, (const char* trans, const LapackInt* n, const LapackInt* k, const T* a, const LapackInt* lda, const LapackInt* pivots, T* b, const LapackInt* ldb, LapackInt* info, size_t)) \
  X(p, potrf, (const char* uplo, const LapackInt* n, T* a, const LapackInt* lda, LapackInt* info, size_t)) \
  X(p, trsm, (const char* side, const char* uplo, const char* trans, const char* diag, const LapackInt* m, const LapackInt* n, const T* alpha, const T* a, const LapackInt* lda, T* b, const LapackInt* ldb, size_t, size_t, size_t, size_t)) \
  X(p, geqrf, (const LapackInt* m, const LapackInt* n, T* a, const LapackInt* lda, T* tau, T* work, const LapackInt* lwork, LapackInt* info)) \
  X(p, orgqr, (const LapackInt* m, const LapackInt* n, const LapackInt* k, T* a, const LapackInt* lda, const T* tau, T* work, const LapackInt* lwork, LapackInt* info)) \
  X(p, ormqr, (const char* side, const char* trans, const LapackInt* m, const LapackInt* n, const LapackInt* k, const T* a, const LapackInt* lda, const T* tau, T* c, const LapackInt* ldc, T* work, const LapackInt* lwork, LapackInt* info, size_t, size_t)) \
  X(p, gesdd, (const char* job, const LapackInt* m, const LapackInt* n, T* a, const LapackInt* lda, T* s, T* u, const LapackInt* ldu, T* vt, const LapackInt* ldvt, T* work, const LapackInt* lwork, LapackInt* iwork, LapackInt* info, size_t)) \
  X(p, syevd, (const char* job, const char* uplo, const LapackInt* n, T* a, const LapackInt* lda, T* w, T* work, const LapackInt* lwork, LapackInt* iwork, const LapackInt* liwork, LapackInt* info, size_t, size_t)) \
  X(p, gels, (const char* trans, const LapackInt* m, const LapackInt* n, const LapackInt* k, T* a, const LapackInt* lda, T* b, const LapackInt* ldb, T* work, const LapackInt* lwork, LapackInt* info, size_t)) \
  X(p, gelsy, (const LapackInt* m, const LapackInt* n, const LapackInt* k, T* a, const LapackInt* lda, T* b, const LapackInt* ldb, LapackInt* iwork, const T* rcond, LapackInt* rank, T* work, const LapackInt* lwork, LapackInt* info)) \
  X(p, gelss, (const LapackInt* m, const LapackInt* n, const LapackInt* k, T* a, const LapackInt* lda, T* b, const LapackInt* ldb, T* s, const T* rcond, LapackInt* rank, T* work, const LapackInt* lwork, LapackInt* info)) \
  X(p, gelsd, (const LapackInt* m, const LapackInt* n, const LapackInt* k, T* a, const LapackInt* lda, T* b, const LapackInt* ldb, T* s, const T* rcond, LapackInt* rank, T* work, const LapackInt* lwork, LapackInt* iwork, LapackInt* info))
// clang-format on

#define TANDEM_LAPACK_DECLARATION(p, name, parameters) void p##name##_ parameters;
extern "C" {
TANDEM_LAPACK_ROUTINES(TANDEM_LAPACK_DECLARATION, float, s)
TANDEM_LAPACK_ROUTINES(TANDEM_LAPACK_DECLARATION, double, d)
}
#undef TANDEM_LAPACK_DECLARATION

template <class... P> class LapackRoutine {
 public:
  explicit constexpr LapackRoutine(void (*routine)(P...)) : routine_(routine) {}
  void operator()(P... arguments) const {
    const detail::DelayExitGuard inside(detail::ExitStage::libraries_ended);
    routine_(arguments...);
  }

 private:
  void (*routine_)(P...);
};
template <class T> struct Lapack;
#define TANDEM_LAPACK_MEMBER(p, name, parameters) static constexpr LapackRoutine name{&p##name##_};
template <> struct Lapack<float> { TANDEM_LAPACK_ROUTINES(TANDEM_LAPACK_MEMBER, float, s) };
template <> struct Lapack<double> { TANDEM_LAPACK_ROUTINES(TANDEM_LAPACK_MEMBER, double, d) };
#undef TANDEM_LAPACK_MEMBER

#endif

}  // namespace tandem::kernels::cpu
