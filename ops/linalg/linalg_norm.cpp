// Norms of vectors and matrices: linalg_norm, linalg_vector_norm, linalg_matrix_norm, nuclear_norm, frobenius_norm.
#include "tandem/ops/linalg/linalg_norm.h"

#include <cmath>

#include "tandem/ops/linalg/svd.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

namespace {

Tensor converted(const Tensor& x, std::optional<DType> dtype) { return dtype ? x.to(*dtype) : x; }
/// The matrices' two dimensions as the last ones, in order.
Tensor matrices_last(const char* op, const Tensor& x, IntArrayRef dim) {
  TANDEM_CHECK(dim.size() == 2 && x.dim() >= 2, op, ": x is ", x.sizes(), " and dim ", dim,
               "; accepted: two dimensions of it");
  const int64_t rows = wrap_dim(op, dim[0], x.dim()), columns = wrap_dim(op, dim[1], x.dim());
  TANDEM_CHECK(rows != columns, op, ": dim is ", dim, "; accepted: two different dimensions");
  return x.movedim({rows, columns}, {-2, -1});
}
/// What was reduced over two dimensions, with these as 1 again if they are to be kept.
Tensor keep(const Tensor& y, const Tensor& x, IntArrayRef dim, bool keepdim) {
  if (!keepdim) return y;
  Shape sizes = x.sizes();
  for (const int64_t d : dim) sizes[static_cast<size_t>(wrap_dim("linalg_matrix_norm", d, x.dim()))] = 1;
  return reshape_result(y.contiguous(), sizes);
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord, OptionalDims dim, Flag keepdim,
                          std::optional<DType> dtype) {
  return converted(x, dtype).norm(ord.to<double>(), dim.dims, keepdim);
}
Tensor linalg_matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim, Flag keepdim,
                          std::optional<DType> dtype) {
  static constexpr const char* kName = "linalg_matrix_norm";
  const double p = ord.to<double>(), size = std::abs(p);
  TANDEM_CHECK(size == 1 || size == 2 || std::isinf(p), kName, ": ord is ", p,
               "; accepted: 1, 2, infinity, these below 0, \"fro\" and \"nuc\"");
  const Tensor m = matrices_last(kName, converted(x, dtype), dim);
  TANDEM_CHECK(m.is_floating_point(), kName, ": dtype is ", m.dtype(), "; accepted: floating point");
  const Tensor values = size == 2 ? linalg_svdvals(m) : m.abs().sum(size == 1 ? -2 : -1);
  return keep(p > 0 ? values.amax(-1) : values.amin(-1), x, dim, keepdim);
}
Tensor linalg_matrix_norm(const Tensor& x, std::string_view ord, IntArrayRef dim, Flag keepdim,
                          std::optional<DType> dtype) {
  static constexpr const char* kName = "linalg_matrix_norm";
  TANDEM_CHECK(ord == "fro" || ord == "nuc", kName, ": ord is \"", ord, "\"; accepted: \"fro\", \"nuc\" and numbers");
  const Tensor m = matrices_last(kName, converted(x, dtype), dim);
  if (ord == "fro") return converted(x, dtype).norm(2, dim, keepdim);  // whose backward leads to the result itself
  return keep(linalg_svdvals(m).sum(-1), x, dim, keepdim);
}

namespace {
template <class Ord>
Tensor norm_by_order(const Tensor& x, const Ord& ord, const OptionalDims& dim, Flag keepdim,
                     std::optional<DType> dtype) {
  const int64_t count = dim.given ? static_cast<int64_t>(dim.dims.size()) : x.dim();
  TANDEM_CHECK(count == 1 || count == 2, "linalg_norm: x is ", x.sizes(), " and dim ", IntArrayRef(dim.dims),
               "; with an ord, accepted: one or two dimensions");
  if constexpr (std::is_same_v<Ord, Scalar>) {
    if (count == 1) return linalg_vector_norm(x, ord, dim.given ? dim : OptionalDims(0), keepdim, dtype);
  } else {
    TANDEM_CHECK(count == 2, "linalg_norm: ord is \"", ord, "\", which only matrices have; x is ", x.sizes());
  }
  return linalg_matrix_norm(x, ord, dim.given ? IntArrayRef(dim.dims) : IntArrayRef{0, 1}, keepdim, dtype);
}
}  // namespace
Tensor linalg_norm(const Tensor& x, const std::optional<Scalar>& ord, OptionalDims dim, Flag keepdim,
                   std::optional<DType> dtype) {
  if (ord) return norm_by_order(x, *ord, dim, keepdim, dtype);
  return linalg_vector_norm(x, 2, dim, keepdim, dtype);
}
Tensor linalg_norm(const Tensor& x, std::string_view ord, OptionalDims dim, Flag keepdim, std::optional<DType> dtype) {
  return norm_by_order(x, ord, dim, keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& x, Flag keepdim) { return nuclear_norm(x, {-2, -1}, keepdim); }
Tensor nuclear_norm(const Tensor& x, IntArrayRef dim, Flag keepdim) {
  return linalg_matrix_norm(x, "nuc", dim, keepdim);
}
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, Flag keepdim) {
  TANDEM_CHECK(dim.size() <= 2, "frobenius_norm: dim is ", dim, "; accepted: up to two dimensions");
  return x.norm(2, dim, keepdim);
}

}  // namespace tandem
