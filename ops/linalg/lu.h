// LU factors: linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, lu_unpack, linalg_lu_solve, lu_solve.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns (P, L, U) with a = P L U: L (..., m, k) with ones on the diagonal, U (..., k, n), k = min(m, n).
/// @throws Error if pivot is false, which PyTorch supports on GPUs only
detail::ThreeTensors linalg_lu(const Tensor& a, bool pivot = true);
/// Returns (LU, pivots). LU holds U, and L without its diagonal, in one matrix. Pivots are int32 and count from 1, as
/// in LAPACK. linalg_lu_factor_ex also returns info, and throws only if check_errors.
/// @throws LinAlgError for a singular matrix; Error if pivot is false
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot = true);
detail::ThreeTensors linalg_lu_factor_ex(const Tensor& a, bool pivot = true, bool check_errors = false);
/// Returns (P, L, U), unpacked from the result of linalg_lu_factor. P is empty unless unpack_pivots, and L and U are
/// empty unless unpack_data.
detail::ThreeTensors lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data = true,
                               bool unpack_pivots = true);
/// Solves a x = b for x, or x a = b if `left` is false. If `adjoint` is true, a is transposed. LU and pivots are the
/// result of linalg_lu_factor(a).
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left = true, bool adjoint = false);
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots);

}  // namespace tandem
