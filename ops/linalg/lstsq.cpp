// What singular values decide: pseudoinverses, ranks, least squares.
#include <algorithm>
#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/linalg/host.h"
#include "tandem/ops/linalg/linalg.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor detail::pinv_backward(const Tensor& dp, const Tensor& p, const Tensor& a) {
  // Differentiate p = p a p, where a p and p a are symmetric. The rest lies outside of a's rows and columns.
  const Tensor pt = p.mT(), g = dp.mT();
  const Tensor down = g.matmul(p).matmul(pt), across = pt.matmul(p).matmul(g);
  return down - a.matmul(p.matmul(down)) + across - across.matmul(p).matmul(a) - pt.matmul(dp).matmul(pt);
}

namespace {

double precision(DType dtype) {
  return dtype == kFloat32 ? double(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
}
/// The bounds, of each matrix or of all.
struct Bounds {
  std::optional<Tensor> atol, rtol;
};
/// Numbers as tensors of the dtype that singular values of a have.
Bounds bounds_of(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const auto number = [&](std::optional<double> x) {
    return x ? std::optional<Tensor>(full({}, *x, a.options())) : std::nullopt;
  };
  return {number(atol), number(rtol)};
}
/// Which of the values (..., k), absolute ones, count.
Tensor counting(const char* op, const Tensor& a, const Tensor& values, const Bounds& bounds) {
  const NoGradGuard guard;
  const auto prepare = [&](const Tensor& x) {
    TANDEM_CHECK(x.device() == a.device(), op, ": a bound is on ", x.device(), " and a on ", a.device());
    return x.detach().to(a.dtype());
  };
  const auto given = [](const std::optional<Tensor>& x) { return x && x->defined(); };
  Tensor bound = zeros({}, values.options()), relative;
  if (given(bounds.atol)) bound = prepare(*bounds.atol);
  if (given(bounds.rtol))
    relative = prepare(*bounds.rtol);
  else if (!given(bounds.atol))
    relative = full({}, precision(a.dtype()) * static_cast<double>(std::max(a.size(-1), a.size(-2))), a.options());
  if (relative.defined()) bound = maximum(bound, relative * values.amax({-1}));
  return values > bound.unsqueeze(-1);
}

/// The pseudoinverse, and its gradient by its own formula: that of singular vectors would not exist for equal values.
Tensor pseudoinverse(const char* op, const Tensor& a, const Bounds& bounds, bool hermitian) {
  hermitian ? check_square(op, a) : check_matrices(op, a);
  Tensor p;
  {
    const NoGradGuard guard;
    if (a.numel() == 0) {
      p = zeros(joined(leading_sizes(a), {a.size(-1), a.size(-2)}), a.options());
    } else if (hermitian) {
      const auto [w, v] = linalg_eigh(a);
      const Tensor inverted = where(counting(op, a, w.abs(), bounds), w.reciprocal(), Scalar(0));
      p = (v * inverted.unsqueeze(-2)).matmul(v.mT());
    } else {
      const auto [U, S, Vh] = linalg_svd(a, /*full_matrices=*/false);
      const Tensor inverted = where(counting(op, a, S, bounds), S.reciprocal(), Scalar(0));
      p = (Vh.mT() * inverted.unsqueeze(-2)).matmul(U.mT());
    }
  }
  return record("linalg_pinv", p, {a}, {a, p}, [](const Context& ctx, const Tensor& dp) -> Grads {
    return {pinv_backward(dp, ctx.saved(1), ctx.saved(0))};
  });
}
Tensor rank_of_matrix(const Tensor& a, const Bounds& bounds, bool hermitian) {
  static constexpr const char* kName = "linalg_matrix_rank";
  hermitian ? check_square(kName, a) : check_matrices(kName, a);
  const NoGradGuard guard;
  if (std::min(a.size(-1), a.size(-2)) == 0) return zeros(leading_sizes(a), a.options().dtype(kInt64));
  const Tensor values = hermitian ? linalg_eigvalsh(a.detach()).abs() : linalg_svdvals(a.detach());
  return counting(kName, a, values, bounds).to(kInt64).sum(-1);
}

}  // namespace

Tensor linalg_pinv(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                   bool hermitian) {
  return pseudoinverse("linalg_pinv", a, {atol, rtol}, hermitian);
}
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, bounds_of(a, atol, rtol), hermitian);
}
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, bounds_of(a, {}, rcond), hermitian);
}
Tensor linalg_pinv(const Tensor& a, const Tensor& rcond, bool hermitian) {
  return pseudoinverse("linalg_pinv", a, {{}, rcond}, hermitian);
}
Tensor pinverse(const Tensor& a, double rcond) { return linalg_pinv(a, rcond); }
Tensor Tensor::pinverse(double rcond) const { return linalg_pinv(*this, rcond); }

Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                          bool hermitian) {
  return rank_of_matrix(a, {atol, rtol}, hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return rank_of_matrix(a, bounds_of(a, atol, rtol), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian) {
  return rank_of_matrix(a, bounds_of(a, tol, {}), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian) {
  return rank_of_matrix(a, {tol, {}}, hermitian);
}

namespace {
kernels::cpu::LeastSquares driver_of(std::optional<std::string_view> name) {
  using kernels::cpu::LeastSquares;
  if (!name || *name == "gelsy") return LeastSquares::gelsy;
  if (*name == "gels") return LeastSquares::gels;
  if (*name == "gelsd") return LeastSquares::gelsd;
  TANDEM_CHECK(*name == "gelss", "linalg_lstsq: driver is \"", *name,
               "\"; accepted: \"gelsy\", \"gels\", \"gelsd\" and \"gelss\"");
  return LeastSquares::gelss;
}
}  // namespace
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  static constexpr const char* kName = "linalg_lstsq";
  using kernels::cpu::LeastSquares;
  check_matrices(kName, a);
  check_operands(kName, a, b);
  const LeastSquares method = driver_of(driver);
  const bool vectors = is_vector_side(a, b);
  const Tensor sides = vectors ? b.unsqueeze(-1) : b;
  TANDEM_CHECK(sides.dim() >= 2 && sides.size(-2) == a.size(-2), kName, ": a is ", a.sizes(), " and b ", b.sizes(),
               "; accepted: (..., m, n), and (..., m, k) or (..., m)");
  const auto [wide_a, wide_b] = broadcast_matrices(kName, a, sides);
  const int64_t m = a.size(-2), n = a.size(-1), least = std::min(m, n), k = sides.size(-1);
  const Shape leading = leading_sizes(wide_a);

  Tensor x, residuals, rank, values;
  bool has_residuals = m > n && method != LeastSquares::gelsy;
  {
    const NoGradGuard guard;
    Tensor columns = to_columns(kName, wide_a), right = to_columns(kName, wide_b);
    const int64_t batch = columns.size(0);
    Tensor both = zeros({batch, k, std::max(m, n)}, right.options());
    both.narrow(-1, 0, m).copy_(right);
    values = zeros({batch, least}, right.options()), rank = zeros({batch}, right.options().dtype(kInt64));
    Tensor info = zeros({batch}, right.options().dtype(kInt32));
    const double bound = rcond.value_or(precision(a.dtype()) * static_cast<double>(std::max(m, n)));
    if (least > 0 && batch > 0) {
      TANDEM_HOST_DISPATCH(columns.device(), least_squares, method, bound, columns, both, values, rank, info);
      check_info(kName, info, "has no least squares: it is not of full rank, or singular values did not converge");
    }
    x = core::narrow(from_columns(both, leading, a.device()), static_cast<int64_t>(leading.size()), 0, n);
    const bool by_values = method == LeastSquares::gelsd || method == LeastSquares::gelss;
    if (m > n && by_values) {
      check_not_recorded(kName, "looks at ranks, whether there are residuals");
      has_residuals = rank.numel() == 0 || (rank == n).all().item<bool>();
    }
    rank = method == LeastSquares::gels ? empty({0}, a.options().dtype(kInt64)) : from_host(rank, leading, a.device());
    values = by_values ? from_host(values, leading, a.device()) : empty({0}, a.options());
  }
  x = record(kName, x, {wide_a, wide_b}, {wide_a, wide_b}, [](const Context& ctx, const Tensor& dx) -> Grads {
    const Tensor a = ctx.saved(0), p = linalg_pinv(a);  // x = p b
    Tensor da;
    if (ctx.needs_grad(0)) da = pinv_backward(dx.matmul(ctx.saved(1).mT()), p, a);
    return {da, p.mT().matmul(dx)};
  });
  residuals = has_residuals ? (wide_a.matmul(x) - wide_b).square().sum({-2}) : empty({0}, a.options());
  if (vectors) x = reshape_result(x, leading_sizes(x, 1));
  return {x, residuals, rank, values};
}

}  // namespace tandem
