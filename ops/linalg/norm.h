// Norms of vectors and matrices: norm, linalg_norm, linalg_vector_norm, linalg_matrix_norm, nuclear_norm,
// frobenius_norm, norm_except_dim; renorm, which scales slices down to a maximum norm. core/reduce_ops.h says how lists
// of dimensions are given.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns (sum |x|^ord)^(1/ord) over the given dimensions, or over all. ord may be 0, which counts non-zero elements,
/// or infinite. See norm for the precision.
Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord = 2, detail::OptionalDims dim = {},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// Returns the norm of the matrices in two dimensions. Orders: "fro" (square root of the sum of squares), "nuc" (sum of
/// singular values), 2 and -2 (largest and smallest singular value), 1 and -1 (largest and smallest sum of absolute
/// values of a column), inf and -inf (of a row).
Tensor linalg_matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim = {-2, -1}, detail::Flag keepdim = false,
                          std::optional<DType> dtype = {});
Tensor linalg_matrix_norm(const Tensor& x, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          detail::Flag keepdim = false, std::optional<DType> dtype = {});
/// Returns linalg_matrix_norm if ord is given and dim lists two dimensions, or dim is not given and x is a matrix;
/// otherwise linalg_vector_norm.
Tensor linalg_norm(const Tensor& x, const std::optional<Scalar>& ord = {}, detail::OptionalDims dim = {},
                   detail::Flag keepdim = false, std::optional<DType> dtype = {});
Tensor linalg_norm(const Tensor& x, std::string_view ord, detail::OptionalDims dim = {}, detail::Flag keepdim = false,
                   std::optional<DType> dtype = {});
/// Older name of linalg_matrix_norm(x, "nuc").
Tensor nuclear_norm(const Tensor& x);
Tensor nuclear_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);
template <std::integral Number> Tensor nuclear_norm(const Tensor& x, Number keepdim) {
  return nuclear_norm(x, {-2, -1}, keepdim);
}
/// Returns the square root of the sum of squares over dim, at most two dimensions; all dimensions if dim is empty.
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, detail::Flag keepdim = false);

/// Returns (sum |x|^p)^(1/p) of floating-point elements, over all or some dimensions. p may be 0 or infinite; if there
/// are no elements, p must be finite and not negative. For p = 2 squares are summed in double; for other p elements are
/// first divided by the largest. So for float32 and half types the norm and its gradient are accurate if the result
/// fits the dtype. For p = 1, |x| is summed as by sum().
inline Tensor norm(const Tensor& x, detail::NormOrder p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, detail::NormOrder p, DType dtype) { return x.norm(p, dtype); }
inline Tensor norm(const Tensor& x, detail::NormOrder p, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.norm(p, dims, keepdim);
}
inline Tensor norm(const Tensor& x, detail::NormOrder p, IntArrayRef dims, detail::Flag keepdim, DType dtype) {
  return x.norm(p, dims, keepdim, dtype);
}
/// Scales down each slice along dim whose p-norm exceeds maxnorm, so that its norm becomes maxnorm.
/// @throws Error unless x has two dimensions or more, p is positive and maxnorm is not negative
inline Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return x.renorm(p, dim, maxnorm);
}

/// Returns (sum |v|^p)^(1/p) over all dimensions but dim; they keep size 1. If dim is -1, reduces all dimensions to a
/// 0-dim tensor.
Tensor norm_except_dim(const Tensor& v, int64_t p = 2, int64_t dim = 0);

}  // namespace tandem
