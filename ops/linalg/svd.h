// Singular values and singular vectors: linalg_svd, linalg_svdvals, svd.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns (U, S, Vh) with a = U diag(S) Vh and S descending. U is (..., m, m) and Vh is (..., n, n); unless
/// full_matrices, only the first k = min(m, n) columns of U and rows of Vh. Singular vectors are unique only up to
/// their signs, and only for distinct singular values. So only functions that do not depend on these choices have a
/// gradient, and the vectors that full_matrices adds have none. `driver` must not be given, because PyTorch uses it on
/// GPUs only.
/// @throws LinAlgError for elements that are not finite
detail::ThreeTensors linalg_svd(const Tensor& a, bool full_matrices = true,
                                std::optional<std::string_view> driver = {});
/// Returns only the singular values S; see linalg_svd.
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver = {});
/// Returns (U, S, V), where V is the transpose of linalg_svd's Vh. If compute_uv is false, U and V are zeros.
detail::ThreeTensors svd(const Tensor& a, bool some = true, bool compute_uv = true);

}  // namespace tandem
