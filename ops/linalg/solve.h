// Solutions of linear equations: linalg_solve, linalg_solve_ex, linalg_solve_triangular, triangular_solve.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Implements linalg_solve_ex. Error messages name the calling operation, `op`.
std::tuple<Tensor, Tensor> solve(const char* op, const Tensor& a, const Tensor& b, bool left, bool check_errors);
}  // namespace detail

/// Solves a x = b for x, or x a = b if `left` is false. b holds vectors if it is 1-d or its sizes are those of a
/// without the last size; otherwise it holds matrices. @throws LinAlgError for a singular matrix
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left = true);
/// Returns (x, info). Like linalg_solve, but throws for a singular matrix only if check_errors is true.
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false);
/// Solves a x = b for x, or x a = b if `left` is false. Only the upper or lower triangle of a is read, and if
/// unitriangular, its diagonal counts as ones. A zero on the diagonal gives infinities.
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false);
/// Returns (x, a copy of a), where x solves a x = b, or a^T x = b if transpose.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper = true, bool transpose = false,
                                            bool unitriangular = false);

}  // namespace tandem
