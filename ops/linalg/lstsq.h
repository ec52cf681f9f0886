// Least squares: linalg_lstsq.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (solution, residuals, rank, singular values): least squares |a x - b|, of b as in linalg_solve. Drivers: "gelsy"
/// (QR with pivots, the default), "gels" (QR, of full rank), "gelsd", "gelss" (singular values). Singular values below
/// rcond (machine precision times max(m, n)) times the largest count as 0. What a driver does not give is empty; there
/// are residuals, sums of squares for each column, where m > n and every rank is n, but not by "gelsy".
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b,
                                                        std::optional<double> rcond = {},
                                                        std::optional<std::string_view> driver = {});

}  // namespace tandem
