// Sums with matrix products: addmm, addmv, addr, baddbmm, addbmm.
#include "tandem/ops/products/addmm.h"

#include <cmath>

#include "tandem/ops/define_op.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/products/multiply_matrices.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, addbmm, addmm, addmv, addr, baddbmm);

namespace {
/// @throws Error unless beta and alpha fit the product's dtype: for integers they must be integers in its range
void check_scalars_fit(const char* op, const Tensor& product, detail::Real beta, detail::Real alpha) {
  if (product.is_floating_point()) return;
  TANDEM_CHECK(beta == std::trunc(beta) && alpha == std::trunc(alpha), op, ": For integral input tensors, argument ",
               beta == std::trunc(beta) ? "alpha" : "beta", " must not be a floating point number. beta is ", beta,
               " and alpha ", alpha, " for ", product.dtype());
  for (const double factor : {beta, alpha})
    if (product.numel() > 0) detail::check_representable(op, product.dtype(), factor);
}
/// Returns factor * x. A factor of 0 gives zeros even where x is NaN or infinite, as in BLAS.
Tensor multiply_by_scalar(const Tensor& x, double factor) {
  if (factor != 0) return factor == 1 ? x : x.is_floating_point() ? x * factor : x * static_cast<int64_t>(factor);
  return record_op("mul", zeros_like(x), {x}, {},
                   [](const BackwardContext&, const Tensor& dy) -> Grads { return {multiply_by_scalar(dy, 0)}; });
}
}  // namespace

Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) {
  if (const Autocast cast{cast_policy::addmm, bias, a, b}) return addmm(cast(bias), cast(a), cast(b), beta, alpha);
  check_product_operands("addmm", a, b);
  check_matrices("addmm", a, b);
  const Shape sizes{a.size(0), b.size(1)};
  TANDEM_CHECK(broadcast_shapes("addmm", bias.sizes(), sizes) == sizes, "addmm: bias is ", bias.sizes(),
               "; it must broadcast to ", sizes);
  // The scaled bias is recorded before the product, so that backward visits the product first.
  const Tensor added = multiply_by_scalar(bias, beta);
  const Tensor product = mm(a, b);
  check_scalars_fit("addmm", product, beta, alpha);
  return multiply_by_scalar(product, alpha) + added;
}

/// Returns beta * x + alpha * product for the operation `op`, after checking x, beta and alpha.
static Tensor add_product(const char* op, const Tensor& x, const Tensor& product, detail::Real beta,
                          detail::Real alpha) {
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), product.sizes()) == product.sizes(), op, ": x is ", x.sizes(),
               "; it must broadcast to ", product.sizes());
  check_same_dtype(op, "x", x, "the product", product);
  check_scalars_fit(op, product, beta, alpha);
  const Tensor added = multiply_by_scalar(x, beta);
  return multiply_by_scalar(product, alpha) + added;
}
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, DType out_dtype, Real beta, Real alpha) {
  if (const Autocast cast{cast_policy::addmm, bias, a, b})
    return addmm(cast(bias), cast(a), cast(b), out_dtype, beta, alpha);
  check_product_operands("addmm", a, b);
  check_out_dtype("addmm", a, out_dtype);
  const AutocastOffGuard uncast;
  return addmm(bias.to(out_dtype), a.to(out_dtype), b.to(out_dtype), beta, alpha);
}
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, DType out_dtype, Real beta, Real alpha) {
  if (const Autocast cast{cast_policy::baddbmm, x, a, b})
    return baddbmm(cast(x), cast(a), cast(b), out_dtype, beta, alpha);
  check_product_operands("baddbmm", a, b);
  check_out_dtype("baddbmm", a, out_dtype);
  const AutocastOffGuard uncast;
  return x.to(out_dtype).baddbmm(a.to(out_dtype), b.to(out_dtype), beta, alpha);
}
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) const {
  return tandem::addmm(*this, a, b, beta, alpha);
}
Tensor Tensor::addmv(const Tensor& matrix, const Tensor& vector, detail::Real beta, detail::Real alpha) const {
  if (const Autocast cast{cast_policy::addmv, *this, matrix, vector})
    return cast(*this).addmv(cast(matrix), cast(vector), beta, alpha);
  TANDEM_CHECK(matrix.dim() == 2 && vector.dim() == 1, "addmv: vector + matrix @ vector expected, got ", dim(), ", ",
               matrix.dim(), ", ", vector.dim(), "; the numbers are the dimensions of input, mat and vec");
  TANDEM_CHECK(matrix.size(1) == vector.size(0), "addmv: size mismatch, got input (", matrix.size(0), "), mat (",
               matrix.size(0), "x", matrix.size(1), "), vec (", vector.size(0), ")");
  return add_product("addmv", *this, matrix.mv(vector), beta, alpha);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) const {
  if (const Autocast cast{cast_policy::addr, *this, a, b}) return cast(*this).addr(cast(a), cast(b), beta, alpha);
  TANDEM_CHECK(a.dim() == 1, "addr: Expected 1-D argument vec1, but got ", a.dim(), "-D");
  TANDEM_CHECK(b.dim() == 1, "addr: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  // addr promotes dtypes, as in PyTorch. The other functions in this file do not.
  const DType type = promote_types(dtype(), promote_types(a.dtype(), b.dtype()));
  return add_product("addr", to(type), a.to(type).outer(b.to(type)), beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) const {
  if (const Autocast cast{cast_policy::baddbmm, *this, a, b}) return cast(*this).baddbmm(cast(a), cast(b), beta, alpha);
  return add_product("baddbmm", *this, a.bmm(b), beta, alpha);
}
Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) const {
  if (const Autocast cast{cast_policy::addbmm, *this, a, b}) return cast(*this).addbmm(cast(a), cast(b), beta, alpha);
  return add_product("addbmm", *this, a.bmm(b).sum(0).to(a.dtype()), beta, alpha);
}

#define TANDEM_DEFINE_ADDMM_INPLACE(name)                                                                          \
  Tensor& Tensor::name##_(const Tensor& a, const Tensor& b, detail::Real beta, detail::Real alpha) const {         \
    return compute_inplace(#name "_", self(), {a, b}, [&](const Tensor& x) { return x.name(a, b, beta, alpha); }); \
  }
TANDEM_DEFINE_ADDMM_INPLACE(addmm)
TANDEM_DEFINE_ADDMM_INPLACE(addmv)
TANDEM_DEFINE_ADDMM_INPLACE(addr)
TANDEM_DEFINE_ADDMM_INPLACE(baddbmm)
TANDEM_DEFINE_ADDMM_INPLACE(addbmm)
#undef TANDEM_DEFINE_ADDMM_INPLACE

}  // namespace tandem
