// Matrix factorizations by LAPACK, on the CPU only. (For CUDA tensors, ops/linalg/host_lapack.h copies to the host and
// back.) Matrices are column-major, as in LAPACK: an (m, n) matrix is a contiguous (batch, n, m) tensor. All matrices
// are float32 or float64. `info` (batch) int32 is LAPACK's status for each matrix: 0, or the position of the failure.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels {
/// LAPACK drivers for least squares: gels (QR), gelsy (QR with pivoting), gelsd (SVD by divide and conquer), gelss
/// (plain SVD).
enum class LeastSquaresDriver { gels, gelsy, gelsd, gelss };
}  // namespace tandem::kernels
namespace tandem::kernels::cpu {

/// Returns whether the build has LAPACK. In a build without LAPACK, all kernels below except pivots_to_permutation
/// throw NotImplementedError.
bool has_lapack();

/// Replaces a (m, n) by L and U with a = P L U. pivots (batch, min(m, n)) int32: for each row, the row that it was
/// swapped with, counted from 1
void lu_factor(Tensor& a, Tensor& pivots, Tensor& info);
/// Converts the row swaps of lu_factor to an order of rows (batch, m) int64: row i of P^T a is row order[i] of a
void pivots_to_permutation(const Tensor& pivots, Tensor& order);
/// Replaces b (n, k) by the solution x of a x = b, where lu and pivots are the results of lu_factor(a)
void lu_solve(const Tensor& lu, const Tensor& pivots, Tensor& b);
/// Replaces the lower triangle of a by L with a = L L^T or, if `upper`, the upper triangle by the transpose of L
void cholesky(Tensor& a, bool upper, Tensor& info);
/// Replaces b (n, k) by the solution x of a x = b, where a is triangular
void triangular_solve(const Tensor& a, bool upper, bool unitriangular, Tensor& b);
/// Computes the QR decomposition a = Q R of a (m, n). Replaces a by R and the reflectors of Q; tau (batch, min(m, n))
/// receives the factors of the reflectors
void geqrf(Tensor& a, Tensor& tau);
/// Replaces a (m, n), whose first columns hold k reflectors with the factors tau (batch, k), by the first n columns of
/// the product of the reflectors
void orgqr(Tensor& a, const Tensor& tau);
/// Multiplies c in place by the product of the reflectors that a and tau hold (by its transpose if `transpose`), from
/// the left if `left`, otherwise from the right
void ormqr(const Tensor& a, const Tensor& tau, bool left, bool transpose, Tensor& c);
/// Computes the SVD a = U diag(s) V^T; destroys a (m, n). u and vt are (m, m) and (n, n), or (m, k) and (k, n) with k =
/// min(m, n). If both are undefined, only s is computed
void svd(Tensor& a, Tensor& u, Tensor& s, Tensor& vt, Tensor& info);
/// Computes the eigendecomposition a = V diag(w) V^T, reading the upper triangle of a if `upper`, otherwise the lower
/// triangle. w is in ascending order. If `vectors`, V replaces a
void eigh(Tensor& a, bool upper, bool vectors, Tensor& w, Tensor& info);
/// Solves a x = b by least squares with minimal norm. Destroys a (m, n). The first n rows of b (max(m, n), k) become x.
/// s (batch, min(m, n)) receives the singular values, which only gelsd and gelss compute. rank (batch) int64 receives
/// the rank of a, which all drivers but gels compute
void least_squares(LeastSquaresDriver driver, double rcond, Tensor& a, Tensor& b, Tensor& s, Tensor& rank,
                   Tensor& info);

}  // namespace tandem::kernels::cpu
