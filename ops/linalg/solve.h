// Solutions of linear equations: linalg_solve, linalg_solve_ex, linalg_solve_triangular, triangular_solve.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// linalg_solve_ex, with the name of the calling operation for error messages.
std::tuple<Tensor, Tensor> solve(const char* op, const Tensor& a, const Tensor& b, bool left, bool check_errors);
}  // namespace detail

/// x of a x = b, or of x a = b unless left. b is matrices, or vectors: of one dimension, or of a's sizes but the last.
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left = true);
/// (x, info): as linalg_solve, but a singular matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false);
/// x of a x = b, or of x a = b unless left, reading one triangle of a, with ones for its diagonal if unitriangular.
/// A zero on the diagonal gives infinities.
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false);
/// (x, a copy of a) with a x = b, or a^T x = b.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper = true, bool transpose = false,
                                            bool unitriangular = false);

}  // namespace tandem
