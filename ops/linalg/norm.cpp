// Norms of vectors and matrices, norm_backward, renorm and norm_except_dim.
#include "tandem/ops/linalg/norm.h"

#include <cmath>

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/linalg/svd.h"
#include "tandem/ops/reduce/partial_sums.h"
#include "tandem/ops/reduce/std_var.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, frobenius_norm, linalg_matrix_norm, linalg_norm, linalg_vector_norm, norm, nuclear_norm,
                   renorm);
TANDEM_CAST_POLICY(none, norm_except_dim);

namespace {

Tensor to_optional_dtype(const Tensor& x, std::optional<DType> dtype) { return dtype ? x.to(*dtype) : x; }
/// Moves the two dimensions `dim`, which hold the matrices, to the end, in order.
Tensor move_matrix_dims_last(const char* op, const Tensor& x, IntArrayRef dim) {
  TANDEM_CHECK(x.dim() >= 2, op, ": The input tensor A must have at least 2 dimensions, got ", x.sizes());
  TANDEM_CHECK(dim.size() == 2, op, ": dim must be a 2-tuple. Got ", dim);
  const int64_t rows = wrap_dim(op, dim[0], x.dim()), columns = wrap_dim(op, dim[1], x.dim());
  TANDEM_CHECK(rows != columns, op, ": dims must be different. Got ", dim);
  return x.movedim({rows, columns}, {-2, -1});
}
/// Returns y, the reduction of x over the two dimensions `dim`. If keepdim is true, restores these dimensions with size
/// 1.
Tensor restore_kept_dims(const Tensor& y, const Tensor& x, IntArrayRef dim, bool keepdim) {
  if (!keepdim) return y;
  Shape sizes = x.sizes();
  for (const int64_t d : dim) sizes[static_cast<size_t>(wrap_dim("linalg_matrix_norm", d, x.dim()))] = 1;
  return reshape_result(y.contiguous(), sizes);
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord, OptionalDims dim, Flag keepdim,
                          std::optional<DType> dtype) {
  if (const Autocast cast{cast_policy::linalg_vector_norm, x})
    return linalg_vector_norm(cast(x), ord, dim, keepdim, dtype);
  return to_optional_dtype(x, dtype).norm(ord.to<double>(), dim.dims, keepdim);
}
Tensor linalg_matrix_norm(const Tensor& x, const Scalar& ord, IntArrayRef dim, Flag keepdim,
                          std::optional<DType> dtype) {
  if (const Autocast cast{cast_policy::linalg_matrix_norm, x})
    return linalg_matrix_norm(cast(x), ord, dim, keepdim, dtype);
  static constexpr const char* kName = "linalg_matrix_norm";
  const double p = ord.to<double>(), size = std::abs(p);
  TANDEM_CHECK(size == 1 || size == 2 || std::isinf(p), kName, ": Order ", p,
               " not supported; accepted: 1, -1, 2, -2, inf, -inf, \"fro\" and \"nuc\"");
  const Tensor m = move_matrix_dims_last(kName, to_optional_dtype(x, dtype), dim);
  TANDEM_CHECK(m.is_floating_point(), kName, ": Expected a floating point or complex tensor as input. Got ", m.dtype());
  const Tensor values = size == 2 ? linalg_svdvals(m) : m.abs().sum(size == 1 ? -2 : -1);
  return restore_kept_dims(p > 0 ? values.amax(-1) : values.amin(-1), x, dim, keepdim);
}
Tensor linalg_matrix_norm(const Tensor& x, std::string_view ord, IntArrayRef dim, Flag keepdim,
                          std::optional<DType> dtype) {
  if (const Autocast cast{cast_policy::linalg_matrix_norm, x})
    return linalg_matrix_norm(cast(x), ord, dim, keepdim, dtype);
  static constexpr const char* kName = "linalg_matrix_norm";
  TANDEM_CHECK(ord == "fro" || ord == "nuc", kName, ": Order ", ord,
               " not supported; accepted: \"fro\", \"nuc\" and numbers");
  const Tensor m = move_matrix_dims_last(kName, to_optional_dtype(x, dtype), dim);
  // calls norm(), which has a backward of its own
  if (ord == "fro") return to_optional_dtype(x, dtype).norm(2, dim, keepdim);
  return restore_kept_dims(linalg_svdvals(m).sum(-1), x, dim, keepdim);
}

namespace {
template <class Ord>
Tensor norm_by_order(const Tensor& x, const Ord& ord, const OptionalDims& dim, Flag keepdim,
                     std::optional<DType> dtype) {
  const int64_t count = dim.has_value ? static_cast<int64_t>(dim.dims.size()) : x.dim();
  TANDEM_CHECK(!dim.has_value || count == 1 || count == 2,
               "linalg_norm: If dim is specified, it must be of length 1 or 2. Got ", IntArrayRef(dim.dims));
  TANDEM_CHECK(count == 1 || count == 2,
               "linalg_norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", x.dim(), "D");
  if constexpr (std::is_same_v<Ord, Scalar>) {
    if (count == 1) return linalg_vector_norm(x, ord, dim.has_value ? dim : OptionalDims(0), keepdim, dtype);
  } else {
    TANDEM_CHECK(count == 2, "linalg_norm: The input tensor A must have at least 2 dimensions for ord \"", ord,
                 "\", got ", x.sizes(), " and ", count, " dimension to reduce");
  }
  return linalg_matrix_norm(x, ord, dim.has_value ? IntArrayRef(dim.dims) : IntArrayRef{0, 1}, keepdim, dtype);
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

Tensor nuclear_norm(const Tensor& x) { return nuclear_norm(x, {-2, -1}); }
Tensor nuclear_norm(const Tensor& x, IntArrayRef dim, Flag keepdim) {
  return linalg_matrix_norm(x, "nuc", dim, keepdim);
}
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, Flag keepdim) {
  TANDEM_CHECK(dim.size() <= 2, "frobenius_norm: Expected at most 2 dimensions, but got ", dim.size(),
               " dimensions instead");
  return x.norm(2, dim, keepdim);
}

Tensor norm_backward(double p, const Tensor& wide_dy, const Tensor& x, const Tensor& wide_y) {
  if (p == 2 &&
      is_reduced_floating_point(x.dtype())) {  // only dy and y are converted to float32, not x, which is larger
    const Tensor flat = wide_y == 0, scaled_grad = wide_dy / tandem::where(flat, Scalar(1), wide_y);
    return x * scaled_grad.masked_fill(flat, 0).to(x.dtype());
  }
  const Tensor dy = wide_dy.to(x.dtype()), y = wide_y.to(x.dtype());
  if (p == 1) return x.sign() * dy;
  if (p == 2) {
    const Tensor flat = y == 0;
    return dy * (x / tandem::where(flat, Scalar(1), y)).masked_fill(flat, 0);
  }
  if (std::isinf(p)) {  // equal extremes share the gradient evenly, and so do several NaNs
    const Tensor size = x.abs(), hit = ((size == y) | (size.isnan() & y.isnan())).to(dy.dtype());
    return x.sign() * hit * (dy / sum_to_size(hit, y.sizes()));
  }
  // Raises x / y to the power p - 1, because powers of x or of y alone may overflow.
  const Tensor usual = y.isfinite() & (y != 0), part = x / tandem::where(usual, y, Scalar(1));
  Tensor scaled_grad = x.sign() * part.abs().pow(p - 1);
  if (p < 1) scaled_grad = tandem::where(x == 0, Scalar(0), scaled_grad);
  const Tensor whole = tandem::where(usual, Scalar(1), y);
  return scaled_grad * tandem::where(y == 0, Scalar(0), dy / whole.pow(p - 1));
}
namespace {
/// Returns (sum |x|^p)^(1/p) without a graph. |x| is divided by its largest element first, or by its smallest if p < 0.
Tensor norm_by_powers(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const ReducedDims r("norm", x, dims);
  if (r.reduced_size == 0) return r.restore_result_shape(r.allocate_output(kFloat64).zero_(), keepdim);
  const Tensor size = r.x.abs();
  Tensor scale = p > 0 ? size.amax(1) : size.amin(1), flat = r.allocate_output(kFloat64);
  scale = tandem::where(scale.isfinite() & (scale != 0), scale, Scalar(1)).to(detail::accumulate_type(x.dtype()));
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, scale, p, flat);
  return r.restore_result_shape(flat.pow(1 / p) * scale, keepdim);
}
/// Returns the norm without a graph. For a half type the result may be float32.
Tensor compute_norm(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const NoGradGuard guard;
  if (p == 0) return (x != 0).to(x.dtype()).sum(dims, keepdim);  // counts non-zero elements
  if (p == 1) return x.abs().sum(dims, keepdim);
  if (std::isinf(p)) return p > 0 ? x.abs().amax(dims, keepdim) : x.abs().amin(dims, keepdim);
  if (p != 2) return norm_by_powers(x, p, dims, keepdim);
  const ReducedDims r("norm", x, dims);
  return r.restore_result_shape(sum_of_squares(r, /*about_mean=*/false).sqrt(), keepdim);
}
}  // namespace
Tensor Tensor::norm(NormOrder p) const { return norm(p, IntArrayRef()); }
Tensor Tensor::norm(NormOrder order, IntArrayRef dims, Flag keepdim) const {
  if (const Autocast cast{cast_policy::norm, *this}) return cast(*this).norm(order, dims, keepdim);
  const double p = order;
  const OpSpan span("norm");
  TANDEM_CHECK_AS(NotImplementedError, is_floating_point(),
                  "norm: Expected a floating point or complex tensor as input. Got ", dtype());
  const unsigned mask = make_dim_mask("norm", dims, dim());
  const Shape keepdim_sizes = get_keepdim_sizes(sizes(), mask);
  TANDEM_CHECK(num_reduced_elements(sizes(), mask) > 0 || (p >= 0 && !std::isinf(p)), "norm cannot compute the ", p,
               " norm on an empty tensor because the operation does not have an identity, got ", sizes(), " and dims ",
               dims);
  const Tensor y = compute_norm(*this, p, dims, keepdim).to(detail::accumulate_type(dtype()));
  return record_op("norm", y, {*this}, {*this, y},
                   [p, keepdim_sizes](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     if (p == 0) return {Tensor()};
                     return {norm_backward(p, reshape_to_keepdim(dy, keepdim_sizes), ctx.saved(0),
                                           reshape_to_keepdim(ctx.saved(1), keepdim_sizes))};
                   })
      .to(dtype());
}

Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  if (const Autocast cast{cast_policy::renorm, *this}) return cast(*this).renorm(p, dim, maxnorm);
  check_accepted_dtype("renorm", AcceptedDtypes::real, dtype());
  TANDEM_CHECK(this->dim() >= 2, "renorm: input needs at least 2 dimensions, got ", this->dim(), " dimensions");
  TANDEM_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported, got p ", p);
  TANDEM_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  if (is_reduced_floating_point(dtype())) return to(kFloat32).renorm(p, dim, maxnorm).to(dtype());
  const int64_t d = wrap_dim("renorm", dim, this->dim());
  std::vector<int64_t> others;
  for (int64_t k = 0; k < this->dim(); ++k)
    if (k != d) others.push_back(k);
  const Tensor lengths = detach().norm(p.to_double(), others, true), over = lengths > maxnorm;
  // The norm that autograd records excludes slices that are not scaled, because a NaN in them would make the gradient
  // NaN.
  const Tensor length = autograd::any_requires_grad({*this})
                            ? tandem::where(over, *this, Scalar(0)).norm(p.to_double(), others, true)
                            : lengths;
  const Tensor scale = tandem::where(over, maxnorm.to_double() / (length + 1e-7), 1.0);
  return contiguous() * scale;
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return autograd::run_inplace(
      "renorm_", self(), {}, [&] { copy_elements(detach().renorm(p, dim, maxnorm), self()); },
      [&](const Tensor& old) { return old.clone().renorm(p, dim, maxnorm); });
}

Tensor norm_except_dim(const Tensor& v, int64_t p, int64_t dim) {
  if (dim == -1) return v.norm(static_cast<double>(p));
  const int64_t keepdim_sizes = wrap_dim("norm_except_dim", dim, v.dim());
  Shape others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != keepdim_sizes) others.push_back(d);
  return others.empty() ? v.abs() : v.norm(static_cast<double>(p), others, /*keepdim=*/true);
}

}  // namespace tandem
