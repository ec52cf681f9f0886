// Factorizations of matrices by LAPACK, on the CPU; CUDA has no twins, ops/linalg/host_lapack.h copies to the host and
// back. Matrices lie by columns, as LAPACK wants them: an (m, n) matrix is a contiguous (batch, n, m) tensor. All are
// float32 or float64. `info` (batch) int32 holds what LAPACK says of each matrix: 0, or where it failed.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels {
/// LAPACK drivers for least squares: QR, QR with pivoting, SVD by divide and conquer, plain SVD.
enum class LeastSquares { gels, gelsy, gelsd, gelss };
}  // namespace tandem::kernels
namespace tandem::kernels::cpu {

/// Whether the build has LAPACK; without it the kernels below throw.
bool has_lapack();

/// a = P L U in the place of a (m, n); pivots (batch, min(m, n)) int32, from 1 on: the row that each was exchanged with
void lu_factor(Tensor& a, Tensor& pivots, Tensor& info);
/// The exchanges of lu_factor as the order of rows (batch, m) int64: row i of P^T a is row order[i] of a
void row_order(const Tensor& pivots, Tensor& order);
/// a x = b, in the place of b (n, k), by the factors of lu_factor
void lu_solve(const Tensor& lu, const Tensor& pivots, Tensor& b);
/// a = L L^T in the place of that triangle of a
void cholesky(Tensor& a, bool upper, Tensor& info);
/// a x = b, in the place of b (n, k), for a triangle of a
void triangular_solve(const Tensor& a, bool upper, bool unitriangular, Tensor& b);
/// a = Q R as reflectors in the place of a (m, n), with their factors tau (batch, min(m, n))
void geqrf(Tensor& a, Tensor& tau);
/// The first n columns of the product of the reflectors, in the place of a (m, n), which holds them, tau (batch, k)
void orgqr(Tensor& a, const Tensor& tau);
/// c times the product of the reflectors, from the left or the right, in the place of c
void ormqr(const Tensor& a, const Tensor& tau, bool left, bool transpose, Tensor& c);
/// a = U diag(s) V^T; destroys a (m, n). u (m, m) and vt (n, n), or of k = min(m, n) columns and rows, or undefined
void svd(Tensor& a, Tensor& u, Tensor& s, Tensor& vt, Tensor& info);
/// a = V diag(w) V^T by one triangle of a: w ascends, and V stands in the place of a if vectors are wanted
void eigh(Tensor& a, bool upper, bool vectors, Tensor& w, Tensor& info);
/// Least squares of a x = b, of least norm: destroys a (m, n); b (max(m, n), k) becomes x in its first n rows; s
/// (batch, min(m, n)) the singular values by gelsd and gelss, rank (batch) int64 except by gels
void least_squares(LeastSquares driver, double rcond, Tensor& a, Tensor& b, Tensor& s, Tensor& rank, Tensor& info);

}  // namespace tandem::kernels::cpu
