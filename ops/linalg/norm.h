// Norms of vectors and matrices: norm, linalg_norm, linalg_vector_norm, linalg_matrix_norm, nuclear_norm,
// frobenius_norm, norm_except_dim; renorm, which scales slices down to a maximum norm. core/reduce_ops.h says how a
// list of dimensions is given.
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

/// (sum |x|^p)^(1/p) of real numbers, all or over some dims; p may be infinite, but for no elements only 0 or more. For
/// p = 2 squares are summed in double; for other p elements are divided by the largest first. So a norm of float32 or
/// a half type, and its gradient, is accurate if the result fits the dtype; for p = 1 sums are float32.
inline Tensor norm(const Tensor& x, double p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.norm(p, dims, keepdim);
}
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim, DType dtype) {
  return x.norm(p, dims, keepdim, dtype);
}
/// x with each slice along dim whose p-norm is above maxnorm made that short. @throws Error unless x is of two
/// dimensions or more, p is positive and maxnorm not negative
inline Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return x.renorm(p, dim, maxnorm);
}

/// (sum |v|^p)^(1/p) over all dimensions but dim, which stay with size 1; dim -1: over all, of no dimension.
Tensor norm_except_dim(const Tensor& v, int64_t p = 2, int64_t dim = 0);

}  // namespace tandem
