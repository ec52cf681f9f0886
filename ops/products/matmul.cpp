#include "tandem/ops/products/matmul.h"

#include <cmath>

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/matmul.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::check_operands;
namespace {

/// As (batch, rows, columns), recorded nowhere: as it is when its rows or its columns lie densely, else a copy.
Tensor straight(const Tensor& x) {
  const Tensor lifted =
      x.dim() == 3 ? core::alias(x)
                   : core::as_strided(x, {1, x.size(0), x.size(1)}, {0, x.stride(0), x.stride(1)}, x.storage_offset());
  const bool rows = lifted.stride(2) == 1 && lifted.stride(1) >= std::max<int64_t>(lifted.size(2), 1);
  const bool columns = lifted.stride(1) == 1 && lifted.stride(2) >= std::max<int64_t>(lifted.size(1), 1);
  const NoGradGuard guard;
  return rows || columns ? lifted : lifted.clone(MemoryFormat::Contiguous);
}
/// y = a b, plus bias in each row where it is defined.
void multiply(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& y) {
  const Tensor left = straight(a), right = straight(b),
               row = bias.defined() ? detail::contiguous_detached(bias) : Tensor();
  Tensor to = y.dim() == 3 ? y : core::try_view(y, {1, y.size(0), y.size(1)});
  TANDEM_DISPATCH(a.device(), matmul, left, right, row, to);
}
/// Whether columns lie densely and rows do not.
bool is_turned(const Tensor& x) { return x.stride(-2) == 1 && x.stride(-1) != 1; }
/// Of integers: the sum of k products of a column and a row, which wraps.
void add_products(const Tensor& a, const Tensor& b, Tensor y) {
  for (int64_t k = 0; k < a.size(-1); ++k) y.add_(a.narrow(-1, k, 1) * b.narrow(-2, k, 1));
}
/// (batch, m, k) times (batch, k, n), or both without batch, recorded.
Tensor product(const char* op, const Tensor& a, const Tensor& b) {
  Shape sizes = a.sizes();
  sizes.back() = b.size(-1);
  Tensor y = core::empty(sizes, a.dtype(), a.device());
  if (!a.is_floating_point()) return add_products(a, b, y.zero_()), y;
  multiply(a, b, {}, y);
  if (!autograd::any_wants_grad({a, b})) return y;
  // Each factor is saved for the other's gradient only: one whose partner needs none may be changed in place.
  const Tensor none;
  const Tensor &a_kept = autograd::wants_grad(b) ? a : none, &b_kept = autograd::wants_grad(a) ? b : none;
  return record(op, y, {a, b}, {a_kept, b_kept},
                [op, a_turned = is_turned(a), b_turned = is_turned(b)](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor a = ctx.saved(0), b = ctx.saved(1);
                  const auto turn = [](const Tensor& x) { return x.transpose(-2, -1); };
                  Tensor da, db;  // each laid out as the operand itself, so that a parameter's needs no copy
                  if (ctx.needs_grad(0)) da = a_turned ? turn(product(op, b, turn(dy))) : product(op, dy, turn(b));
                  if (ctx.needs_grad(1)) db = b_turned ? turn(product(op, turn(dy), a)) : product(op, turn(a), dy);
                  return {da, db};
                });
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_operands("mm", a, b);
  TANDEM_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "mm: a is ", a.sizes(), " and b is ", b.sizes(),
               "; accepted: (n, k) and (k, m)");
  return product("mm", a, b);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  check_operands("bmm", a, b);
  TANDEM_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1), "bmm: a is ",
               a.sizes(), " and b is ", b.sizes(), "; accepted: (b, n, k) and (b, k, m)");
  return product("bmm", a, b);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_operands("matmul", a, b);
  TANDEM_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: a is ", a.sizes(), " and b is ", b.sizes(),
               "; both need at least one dimension");
  TANDEM_CHECK(a.size(-1) == b.size(b.dim() == 1 ? 0 : -2), "matmul: a is ", a.sizes(), " and b is ", b.sizes(),
               "; the last dimension of a must equal the second last of b");
  if (a.dim() == 1 || b.dim() == 1) {  // a row, a column, whose dimension the result does not have
    Shape out;
    for (int64_t d = 0; d + 1 < a.dim(); ++d) out.push_back(a.size(d));
    for (int64_t d = 0; d < b.dim(); ++d)
      if (a.dim() == 1 && b.dim() > 1 && d != b.dim() - 2) out.push_back(b.size(d));
    return reshape_result(matmul(a.dim() == 1 ? a.unsqueeze(0) : a, b.dim() == 1 ? b.unsqueeze(1) : b), out);
  }
  if (b.dim() == 2) {  // one product of all rows
    if (a.dim() == 2) return product("mm", a, b);
    Shape out = a.sizes();
    const int64_t rows = numel_of(a.sizes().slice(0, out.size() - 1));
    out.back() = b.size(1);
    return reshape_result(product("mm", a.reshape({rows, a.size(-1)}), b), out);
  }
  const size_t ra = static_cast<size_t>(a.dim()), rb = static_cast<size_t>(b.dim());
  const Shape batch = broadcast_shapes("matmul", a.sizes().slice(0, ra - 2), b.sizes().slice(0, rb - 2));
  const auto spread = [&](const Tensor& x) {
    Shape sizes = batch;
    sizes.push_back(x.size(-2)), sizes.push_back(x.size(-1));
    return x.expand(sizes).reshape({numel_of(batch), x.size(-2), x.size(-1)});
  };
  Shape out = batch;
  out.push_back(a.size(-2)), out.push_back(b.size(-1));
  return reshape_result(product("matmul", spread(a), spread(b)), out);
}

namespace {
/// @throws Error unless the factors of a sum of products fit the product's dtype
void check_factors(const char* op, const Tensor& product, double beta, double alpha) {
  if (product.is_floating_point()) return;
  TANDEM_CHECK(beta == std::trunc(beta) && alpha == std::trunc(alpha), op, ": beta is ", beta, " and alpha ", alpha,
               "; accepted beside ", product.dtype(), ": integers");
  for (const double factor : {beta, alpha})
    if (product.numel() > 0) detail::check_holds(op, product.dtype(), factor);
}
/// factor x; 0 leaves nothing of x, not its NaNs and infinities either, as in BLAS.
Tensor scaled(const Tensor& x, double factor) {
  if (factor != 0) return factor == 1 ? x : x.is_floating_point() ? x * factor : x * static_cast<int64_t>(factor);
  return record("mul", zeros_like(x), {x}, {},
                [](const Context&, const Tensor& dy) -> Grads { return {scaled(dy, 0)}; });
}
}  // namespace

Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, double beta, double alpha) {
  check_operands("addmm", a, b);
  TANDEM_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "addmm: a is ", a.sizes(), " and b is ",
               b.sizes(), "; accepted: (n, k) and (k, m)");
  const Shape sizes{a.size(0), b.size(1)};
  TANDEM_CHECK(broadcast_shapes("addmm", bias.sizes(), sizes) == sizes, "addmm: bias is ", bias.sizes(),
               "; it must broadcast to ", sizes);
  const Tensor added = scaled(bias, beta);  // recorded first, so that backward comes to the product first
  const Tensor product = mm(a, b);
  check_factors("addmm", product, beta, alpha);
  return scaled(product, alpha) + added;
}

namespace {
/// scaled(x, beta) + scaled(product, alpha) for the op that the user called, after a check of x and the numbers.
Tensor add_product(const char* op, const Tensor& x, const Tensor& product, double beta, double alpha) {
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), product.sizes()) == product.sizes(), op, ": x is ", x.sizes(),
               "; it must broadcast to ", product.sizes());
  TANDEM_CHECK(x.dtype() == product.dtype(), op, ": x is ", x.dtype(), " and the product ", product.dtype(),
               "; both must be of one dtype");
  check_factors(op, product, beta, alpha);
  const Tensor added = scaled(x, beta);
  return scaled(product, alpha) + added;
}
}  // namespace
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, double beta, double alpha) const {
  return tandem::addmm(*this, a, b, beta, alpha);
}
Tensor Tensor::addmv(const Tensor& matrix, const Tensor& vector, double beta, double alpha) const {
  TANDEM_CHECK(matrix.dim() == 2 && vector.dim() == 1 && matrix.size(1) == vector.size(0), "addmv: the operands are ",
               matrix.sizes(), " and ", vector.sizes(), "; accepted: (n, k) and (k,)");
  return add_product("addmv", *this, matrix.mv(vector), beta, alpha);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, double beta, double alpha) const {
  TANDEM_CHECK(a.dim() == 1 && b.dim() == 1, "addr: the operands are ", a.sizes(), " and ", b.sizes(),
               "; accepted: (n,) and (m,)");
  const DType type = promote_types(dtype(), promote_types(a.dtype(), b.dtype()));  // addr alone promotes, as in PyTorch
  return add_product("addr", to(type), a.to(type).outer(b.to(type)), beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, double beta, double alpha) const {
  return add_product("baddbmm", *this, a.bmm(b), beta, alpha);
}
Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, double beta, double alpha) const {
  return add_product("addbmm", *this, a.bmm(b).sum(0).to(a.dtype()), beta, alpha);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& given) {
  TANDEM_CHECK(weight.dim() == 2 && x.dim() > 0 && x.size(-1) == weight.size(1), "linear: x is ", x.sizes(),
               " and weight is ", weight.sizes(), "; the last dimension of x must equal weight's second");
  check_operands("linear", x, weight);
  const bool mixed = given.defined() && is_half(x.dtype()) && given.dtype() == kFloat32;
  const Tensor bias = mixed ? given.to(x.dtype()) : given;
  if (x.dim() != 2) {
    Shape out = x.sizes();
    out.back() = weight.size(0);
    const int64_t rows = numel_of(x.sizes().slice(0, x.sizes().size() - 1));
    return reshape_result(linear(x.reshape({rows, x.size(-1)}), weight, bias), out);
  }
  Tensor y = core::empty({x.size(0), weight.size(0)}, x.dtype(), x.device());
  if (bias.defined()) {
    check_operands("linear", x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "linear: bias is ", bias.sizes(), "; accepted: (",
                 weight.size(0), ",)");
  }
  if (!x.is_floating_point()) {
    add_products(x, weight.t(), bias.defined() ? y.copy_(bias) : y.zero_());
    return y;
  }
  multiply(x, core::transpose(weight, 0, 1), bias, y);
  if (!autograd::any_wants_grad({x, weight, bias})) return y;
  const Tensor none;
  const Tensor &x_kept = autograd::wants_grad(weight) ? x : none,
               &weight_kept = autograd::wants_grad(x) ? weight : none;
  return record(
      "linear", y, {x, weight, bias}, {x_kept, weight_kept}, [](const Context& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? dy.mm(ctx.saved(1)) : Tensor(),
                ctx.needs_grad(1) ? dy.t().mm(ctx.saved(0)) : Tensor(), ctx.needs_grad(2) ? dy.sum({0}) : Tensor()};
      });
}

Tensor Tensor::matmul(const Tensor& other) const { return tandem::matmul(*this, other); }
Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tandem::bmm(*this, other); }
Tensor Tensor::mv(const Tensor& other) const {
  check_operands("mv", *this, other);
  TANDEM_CHECK(dim() == 2 && other.dim() == 1 && size(1) == other.size(0), "mv: the operands are ", sizes(), " and ",
               other.sizes(), "; accepted: (n, k) and (k,)");
  return matmul(other);
}
Tensor Tensor::dot(const Tensor& other) const {
  check_operands("dot", *this, other);
  TANDEM_CHECK(dim() == 1 && other.dim() == 1 && numel() == other.numel(), "dot: the operands are ", sizes(), " and ",
               other.sizes(), "; accepted: (k,) and (k,)");
  return matmul(other);
}

}  // namespace tandem
