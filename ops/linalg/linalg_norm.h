// Norms of vectors and matrices, of x in `dtype` if that is given: linalg_norm, linalg_vector_norm, linalg_matrix_norm,
// nuclear_norm, frobenius_norm.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// (sum |x|^ord)^(1/ord) over dims, or all; ord may be 0 (how many are not 0) and infinite. Precision: see norm.
Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord = 2, detail::OptionalDims dim = {},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// Of the matrices in two dimensions: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2
/// (largest and smallest singular value), 1 and -1 (of the columns' sums of absolute values), inf and -inf (of the
/// rows').
Tensor linalg_matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim = {-2, -1}, detail::Flag keepdim = false,
                          std::optional<DType> dtype = {});
Tensor linalg_matrix_norm(const Tensor& x, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// linalg_matrix_norm where ord is given, of a matrix or two dims, else linalg_vector_norm.
Tensor linalg_norm(const Tensor& x, const std::optional<Scalar>& ord = {}, detail::OptionalDims dim = {},
                   detail::Flag keepdim = false, std::optional<DType> dtype = {});
Tensor linalg_norm(const Tensor& x, std::string_view ord, detail::OptionalDims dim = {}, detail::Flag keepdim = false,
                   std::optional<DType> dtype = {});
/// linalg_matrix_norm(x, "nuc"), by its older name.
Tensor nuclear_norm(const Tensor& x, detail::Flag keepdim = false);
Tensor nuclear_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);
/// The root of the sum of squares over dim, an older name.
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);

}  // namespace tandem
