// Exponentials of matrices: linalg_matrix_exp, matrix_exp.
#include "tandem/ops/linalg/matrix_exp.h"

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_matrix_exp, matrix_exp);

namespace {
/// Returns the Taylor polynomial of degree 19, sum of x^i / i!, which is exact in double for norms up to 1.09. It is
/// evaluated as five cubic polynomials combined by powers of x^4 (Paterson and Stockmeyer 1973), with seven products
/// instead of 18.
Tensor evaluate_taylor_polynomial(const Tensor& x) {
  const Tensor x2 = x.matmul(x), x3 = x2.matmul(x), x4 = x2.matmul(x2);
  const Tensor one = eye(x.size(-1), x.options());
  double factorial[20] = {1};
  for (int i = 1; i < 20; ++i) factorial[i] = factorial[i - 1] * i;
  Tensor y;
  for (int i = 16; i >= 0; i -= 4) {
    const Tensor part = one / factorial[i] + x / factorial[i + 1] + x2 / factorial[i + 2] + x3 / factorial[i + 3];
    y = y.defined() ? y.matmul(x4) + part : part;
  }
  return y;
}
/// Returns e^a without a graph. Each matrix is halved until its norm is small, and the result is squared as often.
Tensor compute_matrix_exp(const char* op, const Tensor& a) {
  const Tensor norms = a.abs().sum({-2}).amax({-1});
  // Number of halvings per matrix; 0 if the norm is small or not finite.
  const Tensor wanted = (norms / 1.09).log2().ceil();
  const Tensor halvings = where((wanted > 0) & wanted.isfinite(), wanted, Scalar(0)).unsqueeze(-1).unsqueeze(-1);
  check_not_recorded(op, "its number of products depends on the norm of the matrix");
  const auto most = static_cast<int>(halvings.max().item<double>());
  Tensor y = evaluate_taylor_polynomial(a * full({}, 0.5, a.options()).pow(halvings));
  for (int i = 0; i < most; ++i) y = where(halvings > i, y.matmul(y), y);
  return y;
}
}  // namespace
Tensor linalg_matrix_exp(const Tensor& a) {
  if (const Autocast cast{cast_policy::linalg_matrix_exp, a}) return linalg_matrix_exp(cast(a));
  static constexpr const char* kName = "linalg_matrix_exp";
  check_square(kName, a);
  Tensor y;
  {
    const NoGradGuard guard;
    y = a.numel() == 0 ? empty_like(a) : compute_matrix_exp(kName, a.detach());
  }
  return record_op(kName, y, {a}, {a}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    // The derivative is the upper right block of e^[[a^T, dy], [0, a^T]] (Najfeld and Havel 1995).
    const Tensor t = ctx.saved(0).mT();
    const int64_t n = t.size(-1);
    const Tensor whole = cat({cat({t, dy}, -1), cat({zeros_like(t), t}, -1)}, -2);
    return {linalg_matrix_exp(whole).narrow(-2, 0, n).narrow(-1, n, n)};
  });
}
Tensor matrix_exp(const Tensor& a) { return linalg_matrix_exp(a); }
Tensor Tensor::matrix_exp() const { return linalg_matrix_exp(*this); }

}  // namespace tandem
