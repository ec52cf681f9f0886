// Matrix products: matmul, mm, bmm, mv, linalg_matmul.
#include "tandem/ops/products/matmul.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/products/multiply_matrices.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, bmm, linalg_matmul, matmul, mm, mv);

namespace {
/// Returns whether the columns of x are dense in memory, and its rows are not.
bool is_transposed(const Tensor& x) { return x.stride(-2) == 1 && x.stride(-1) != 1; }
/// Multiplies (batch, m, k) by (batch, k, n), or (m, k) by (k, n); recorded by autograd.
Tensor differentiable_matmul(const char* op, const Tensor& a, const Tensor& b) {
  Shape sizes = a.sizes();
  sizes.back() = b.size(-1);
  Tensor y = core::empty(sizes, a.dtype(), a.device());
  if (!a.is_floating_point()) {
    accumulate_outer_products(a, b, y.zero_());
    return y;
  }
  multiply_matrices(a, b, {}, y);
  if (!autograd::any_requires_grad({a, b})) return y;
  // Each factor is saved only if the gradient of the other factor is required. A factor that is not saved may be
  // changed in place.
  const Tensor none;
  const Tensor &a_kept = autograd::tensor_requires_grad(b) ? a : none,
               &b_kept = autograd::tensor_requires_grad(a) ? b : none;
  return record_op(op, y, {a, b}, {a_kept, b_kept},
                   [op, a_transposed = is_transposed(a), b_transposed = is_transposed(b)](const BackwardContext& ctx,
                                                                                          const Tensor& dy) -> Grads {
                     const Tensor a = ctx.saved(0), b = ctx.saved(1);
                     const auto transposed = [](const Tensor& x) { return x.transpose(-2, -1); };
                     // da and db get the layouts of a and b, so that a parameter's gradient needs no copy.
                     Tensor da, db;
                     if (ctx.needs_grad(0))
                       da = a_transposed ? transposed(differentiable_matmul(op, b, transposed(dy)))
                                         : differentiable_matmul(op, dy, transposed(b));
                     if (ctx.needs_grad(1))
                       db = b_transposed ? transposed(differentiable_matmul(op, transposed(dy), a))
                                         : differentiable_matmul(op, transposed(a), dy);
                     return {da, db};
                   });
}
/// Throws the error of a matmul whose inner sizes differ, with the message of the product (dot, mv, mm or bmm) that
/// LibTorch would call.
[[noreturn]] void throw_size_mismatch(const Tensor& a, const Tensor& b) {
  const int64_t rows = numel_of(a.sizes().slice(0, a.sizes().size() - 1));  // of all batches
  TANDEM_CHECK(a.dim() > 1 || b.dim() > 1, "matmul: inconsistent tensor size, expected tensor ", a.sizes(), " and src ",
               b.sizes(), " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
               " elements respectively");
  TANDEM_CHECK(b.dim() > 1, "matmul: size mismatch, got input (", rows, "), mat (", rows, "x", a.size(-1), "), vec (",
               b.size(0), ")");
  TANDEM_CHECK(b.dim() > 2, "matmul: mat1 and mat2 shapes cannot be multiplied (", rows, "x", a.size(-1), " and ",
               b.size(0), "x", b.size(1), ")");
  const int64_t batch = numel_of(b.sizes().slice(0, b.sizes().size() - 2));
  TANDEM_FAIL(
      "matmul: Expected size for first two dimensions of batch2 tensor to be: ", IntArrayRef({batch, a.size(-1)}),
      " but got: ", IntArrayRef({batch, b.size(-2)}), ". The operands are ", a.sizes(), " and ", b.sizes());
}
}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  if (const Autocast cast{cast_policy::mm, a, b}) return mm(cast(a), cast(b));
  check_product_operands("mm", a, b);
  check_matrices("mm", a, b);
  return differentiable_matmul("mm", a, b);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  if (const Autocast cast{cast_policy::bmm, a, b}) return bmm(cast(a), cast(b));
  check_product_operands("bmm", a, b);
  TANDEM_CHECK(a.dim() == 3, "bmm: batch1 must be a 3D tensor, but is ", a.sizes());
  TANDEM_CHECK(b.dim() == 3, "bmm: batch2 must be a 3D tensor, but is ", b.sizes());
  TANDEM_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1),
               "bmm: Expected size for first two dimensions of batch2 tensor to be: ",
               IntArrayRef({a.size(0), a.size(2)}), " but got: ", b.sizes().slice(0, 2), ". batch1 is ", a.sizes(),
               " and batch2 is ", b.sizes(), "; accepted: (b, n, k) and (b, k, m)");
  return differentiable_matmul("bmm", a, b);
}
void detail::check_out_dtype(const char* op, const Tensor& a, DType out_dtype) {
  TANDEM_CHECK(out_dtype == a.dtype() || (out_dtype == kFloat32 && is_reduced_floating_point(a.dtype())), op,
               ": out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs, but is ", out_dtype, " for ",
               a.dtype());
}
Tensor mm(const Tensor& a, const Tensor& b, DType out_dtype) {
  if (const Autocast cast{cast_policy::mm, a, b}) return mm(cast(a), cast(b), out_dtype);
  check_product_operands("mm", a, b);
  check_out_dtype("mm", a, out_dtype);
  const AutocastOffGuard uncast;
  return mm(a.to(out_dtype), b.to(out_dtype));
}
Tensor bmm(const Tensor& a, const Tensor& b, DType out_dtype) {
  if (const Autocast cast{cast_policy::bmm, a, b}) return bmm(cast(a), cast(b), out_dtype);
  check_product_operands("bmm", a, b);
  check_out_dtype("bmm", a, out_dtype);
  const AutocastOffGuard uncast;
  return bmm(a.to(out_dtype), b.to(out_dtype));
}
Tensor matmul(const Tensor& a, const Tensor& b) {
  if (const Autocast cast{cast_policy::matmul, a, b}) return matmul(cast(a), cast(b));
  check_product_operands("matmul", a, b);
  TANDEM_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: both arguments to matmul need to be at least 1D, but they are ",
               a.dim(), "D and ", b.dim(), "D");
  if (a.size(-1) != b.size(b.dim() == 1 ? 0 : -2)) [[unlikely]]
    throw_size_mismatch(a, b);
  // a vector becomes a matrix with one row or column, and this dimension is removed from the result
  if (a.dim() == 1 || b.dim() == 1) {
    Shape out;
    for (int64_t d = 0; d + 1 < a.dim(); ++d) out.push_back(a.size(d));
    for (int64_t d = 0; d < b.dim(); ++d)
      if (a.dim() == 1 && b.dim() > 1 && d != b.dim() - 2) out.push_back(b.size(d));
    return reshape_result(matmul(a.dim() == 1 ? a.unsqueeze(0) : a, b.dim() == 1 ? b.unsqueeze(1) : b), out);
  }
  if (b.dim() == 2) {  // b is a single matrix: computes one product for the rows of all batches of a
    if (a.dim() == 2) return differentiable_matmul("mm", a, b);
    Shape out = a.sizes();
    const int64_t rows = numel_of(a.sizes().slice(0, out.size() - 1));
    out.back() = b.size(1);
    return reshape_result(differentiable_matmul("mm", a.reshape({rows, a.size(-1)}), b), out);
  }
  const size_t ra = static_cast<size_t>(a.dim()), rb = static_cast<size_t>(b.dim());
  const Shape batch = broadcast_shapes("matmul", a.sizes().slice(0, ra - 2), b.sizes().slice(0, rb - 2));
  const auto expand_batch = [&](const Tensor& x) {
    Shape sizes = batch;
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    return x.expand(sizes).reshape({numel_of(batch), x.size(-2), x.size(-1)});
  };
  Shape out = batch;
  out.push_back(a.size(-2));
  out.push_back(b.size(-1));
  return reshape_result(differentiable_matmul("matmul", expand_batch(a), expand_batch(b)), out);
}

Tensor Tensor::matmul(const Tensor& other) const { return tandem::matmul(*this, other); }
Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tandem::bmm(*this, other); }
Tensor Tensor::mv(const Tensor& other) const {
  if (const Autocast cast{cast_policy::mv, *this, other}) return cast(*this).mv(cast(other));
  check_product_operands("mv", *this, other);
  TANDEM_CHECK(dim() == 2 && other.dim() == 1, "mv: vector + matrix @ vector expected, got 1, ", dim(), ", ",
               other.dim(), "; the numbers are dimensions, of which mat has 2 and vec 1");
  TANDEM_CHECK(size(1) == other.size(0), "mv: size mismatch, got input (", size(0), "), mat (", size(0), "x", size(1),
               "), vec (", other.size(0), ")");
  return matmul(other);
}
Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return matmul(a, b); }

}  // namespace tandem
