// Singular values and their vectors: linalg_svd, linalg_svdvals, svd.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// (U, S, Vh): a = U diag(S) Vh, S descending. U (..., m, m) and Vh (..., n, n), or their first k columns and rows
/// unless full_matrices. Singular vectors are unique up to their signs, and where values are apart: only a function of
/// them that does not change with those choices has a gradient, and none for the vectors that full_matrices adds.
/// `driver` is for GPUs in PyTorch, and must not be given. @throws LinAlgError for elements that are not finite
detail::ThreeTensors linalg_svd(const Tensor& a, bool full_matrices = true,
                                std::optional<std::string_view> driver = {});
/// S alone.
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver = {});
/// (U, S, V), not transposed; with compute_uv = false, U and V are zeros.
detail::ThreeTensors svd(const Tensor& a, bool some = true, bool compute_uv = true);

}  // namespace tandem
