// LU factors: linalg_lu, linalg_lu_factor, linalg_lu_factor_ex, lu_unpack, linalg_lu_solve, lu_solve.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// (P, L, U) with a = P L U: L (..., m, k) with ones on the diagonal, U (..., k, n), k = min(m, n).
/// @throws Error for pivot = false, which PyTorch has on GPUs only
detail::ThreeTensors linalg_lu(const Tensor& a, bool pivot = true);
/// (LU, pivots): both factors in one matrix without L's diagonal, and int32 pivots from 1 on, as LAPACK has them.
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot = true);
detail::ThreeTensors linalg_lu_factor_ex(const Tensor& a, bool pivot = true, bool check_errors = false);
/// (P, L, U) of what linalg_lu_factor gives; what is not to be unpacked is an empty tensor.
detail::ThreeTensors lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data = true,
                               bool unpack_pivots = true);
/// x of a x = b (or x a = b, unless left), or with the transpose of a if adjoint is set, from a's factors.
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left = true, bool adjoint = false);
Tensor lu_solve(const Tensor& b, const Tensor& LU, const Tensor& pivots);

}  // namespace tandem
