// Least squares: linalg_lstsq.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns (solution, residuals, rank, singular values) of the least-squares problem that minimizes |a x - b|. b may be
/// vectors or matrices, as in linalg_solve. Drivers: "gelsy" (QR with pivoting, the default), "gels" (QR; full rank
/// required), "gelsd" and "gelss" (singular values). Singular values up to rcond times the largest count as 0; rcond
/// defaults to machine precision times max(m, n). Results that a driver does not compute are empty. Residuals, a sum of
/// squares for each column, exist if m > n and every matrix has rank n, but not for "gelsy".
/// @throws LinAlgError if "gels" finds a matrix without full rank, or singular values do not converge
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b,
                                                        std::optional<double> rcond = {},
                                                        std::optional<std::string_view> driver = {});

}  // namespace tandem
