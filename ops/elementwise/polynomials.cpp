// Orthogonal polynomials of torch.special: Chebyshev, Hermite, Laguerre, Legendre.
#include "tandem/ops/elementwise/polynomials.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, special_chebyshev_polynomial_t, special_chebyshev_polynomial_u, special_chebyshev_polynomial_v,
                   special_chebyshev_polynomial_w, special_hermite_polynomial_h, special_hermite_polynomial_he,
                   special_laguerre_polynomial_l, special_legendre_polynomial_p, special_shifted_chebyshev_polynomial_t,
                   special_shifted_chebyshev_polynomial_u, special_shifted_chebyshev_polynomial_v,
                   special_shifted_chebyshev_polynomial_w);

namespace {
Tensor to_degree_tensor(const Tensor& x, const Scalar& value) {
  return wrapped_scalar_tensor(x.device(), value, value.is_floating_point() ? kFloat64 : kInt64);
}

/// Computes p_0 = 1, p_1 = first(x), p_{k + 1} = next(k, x, p_k, p_{k - 1}), and selects p_n for each element of degree
/// n.
template <class First, class Next>
Tensor evaluate_polynomial(const char* op, const Tensor& given, const Tensor& degrees, First first, Next next) {
  DType dtype = result_type(given, degrees);
  if (!is_floating_point(dtype)) dtype = get_default_dtype();
  check_not_half(op, dtype);
  const Shape sizes = broadcast_shapes(op, given.sizes(), degrees.sizes());
  const Device device = common_device(op, given, degrees);
  const Tensor x = given.to(device).to(dtype).expand(sizes), n = degrees.detach().to(kInt64);
  check_not_recorded(op, "the largest degree tells how many steps there are");
  const int64_t steps = n.numel() == 0 ? -1 : n.max().item<int64_t>();
  const Tensor degree = n.to(device);
  Tensor previous = ones(sizes, x.options()), current = first(x);
  Tensor y = where(degree == 0, previous, zeros(sizes, x.options()));
  for (int64_t k = 1; k <= steps; ++k) {
    y = where(degree == k, current, y);
    if (k == steps) break;
    const Tensor after = next(static_cast<double>(k), x, current, previous);
    previous = current;
    current = after;
  }
  return y;
}
Tensor chebyshev_recurrence(double /*k*/, const Tensor& x, const Tensor& current, const Tensor& previous) {
  return 2 * x * current - previous;
}
/// Computes a Chebyshev polynomial. The kinds differ only in p_1 = slope x + offset.
Tensor evaluate_chebyshev(const char* op, const Tensor& x, const Tensor& n, double slope, double offset) {
  return evaluate_polynomial(
      op, x, n, [=](const Tensor& x) { return slope * x + offset; }, chebyshev_recurrence);
}
/// Computes a Chebyshev polynomial of 2 x - 1, in x's floating dtype.
Tensor evaluate_shifted_chebyshev(const char* op, const Tensor& x, const Tensor& n, double slope, double offset) {
  const Tensor real = x.is_floating_point() ? x : x.to(get_default_dtype());
  return evaluate_chebyshev(op, 2 * real - 1, n, slope, offset);
}

}  // namespace

Tensor special_chebyshev_polynomial_t(const Tensor& x, const Tensor& n) {
  return evaluate_chebyshev("special_chebyshev_polynomial_t", x, n, 1, 0);
}
Tensor special_chebyshev_polynomial_u(const Tensor& x, const Tensor& n) {
  return evaluate_chebyshev("special_chebyshev_polynomial_u", x, n, 2, 0);
}
Tensor special_chebyshev_polynomial_v(const Tensor& x, const Tensor& n) {
  return evaluate_chebyshev("special_chebyshev_polynomial_v", x, n, 2, -1);
}
Tensor special_chebyshev_polynomial_w(const Tensor& x, const Tensor& n) {
  return evaluate_chebyshev("special_chebyshev_polynomial_w", x, n, 2, 1);
}
Tensor special_shifted_chebyshev_polynomial_t(const Tensor& x, const Tensor& n) {
  return evaluate_shifted_chebyshev("special_shifted_chebyshev_polynomial_t", x, n, 1, 0);
}
Tensor special_shifted_chebyshev_polynomial_u(const Tensor& x, const Tensor& n) {
  return evaluate_shifted_chebyshev("special_shifted_chebyshev_polynomial_u", x, n, 2, 0);
}
Tensor special_shifted_chebyshev_polynomial_v(const Tensor& x, const Tensor& n) {
  return evaluate_shifted_chebyshev("special_shifted_chebyshev_polynomial_v", x, n, 2, -1);
}
Tensor special_shifted_chebyshev_polynomial_w(const Tensor& x, const Tensor& n) {
  return evaluate_shifted_chebyshev("special_shifted_chebyshev_polynomial_w", x, n, 2, 1);
}
Tensor special_hermite_polynomial_h(const Tensor& x, const Tensor& n) {
  return evaluate_polynomial(
      "special_hermite_polynomial_h", x, n, [](const Tensor& x) { return 2 * x; },
      [](double k, const Tensor& x, const Tensor& current, const Tensor& previous) {
        return 2 * x * current - 2 * k * previous;
      });
}
Tensor special_hermite_polynomial_he(const Tensor& x, const Tensor& n) {
  return evaluate_polynomial(
      "special_hermite_polynomial_he", x, n, [](const Tensor& x) { return x; },
      [](double k, const Tensor& x, const Tensor& current, const Tensor& previous) {
        return x * current - k * previous;
      });
}
Tensor special_laguerre_polynomial_l(const Tensor& x, const Tensor& n) {
  return evaluate_polynomial(
      "special_laguerre_polynomial_l", x, n, [](const Tensor& x) { return 1 - x; },
      [](double k, const Tensor& x, const Tensor& current, const Tensor& previous) {
        return ((2 * k + 1 - x) * current - k * previous) / (k + 1);
      });
}
Tensor special_legendre_polynomial_p(const Tensor& x, const Tensor& n) {
  return evaluate_polynomial(
      "special_legendre_polynomial_p", x, n, [](const Tensor& x) { return x; },
      [](double k, const Tensor& x, const Tensor& current, const Tensor& previous) {
        return ((2 * k + 1) * x * current - k * previous) / (k + 1);
      });
}
#define TANDEM_DEFINE_POLYNOMIAL_WITH_SCALAR(name, ...)                                                         \
  Tensor special_##name(const Tensor& x, const Scalar& n) { return special_##name(x, to_degree_tensor(x, n)); } \
  Tensor special_##name(const Scalar& x, const Tensor& n) { return special_##name(to_degree_tensor(n, x), n); }
TANDEM_POLYNOMIALS(TANDEM_DEFINE_POLYNOMIAL_WITH_SCALAR)
#undef TANDEM_DEFINE_POLYNOMIAL_WITH_SCALAR

}  // namespace tandem
