// Implements initial values of parameters: fans, gains, and the distributions that depend on them.
#include "tandem/nn/init.h"

#include <algorithm>
#include <cmath>

#include "tandem/ops/ops.h"

namespace tandem::nn::init {

Tensor uniform_(Tensor t, double low, double high) {
  const NoGradGuard guard;
  return t.uniform_(low, high);
}
Tensor normal_(Tensor t, double mean, double std) {
  const NoGradGuard guard;
  return t.normal_(mean, std);
}
Tensor constant_(Tensor t, const Scalar& value) {
  const NoGradGuard guard;
  return t.fill_(value);
}
Tensor ones_(Tensor t) { return constant_(std::move(t), 1); }
Tensor zeros_(Tensor t) { return constant_(std::move(t), 0); }

std::tuple<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& w) {
  TANDEM_CHECK(w.dim() >= 2, "Fan in and fan out cannot be computed for tensor with fewer than 2 dimensions, got ",
               w.sizes());
  int64_t field = 1;
  for (int64_t d = 2; d < w.dim(); ++d) field *= w.size(d);
  return {w.size(1) * field, w.size(0) * field};
}
Tensor eye_(Tensor matrix) {
  TANDEM_CHECK(matrix.dim() == 2, "eye_: Only tensors with 2 dimensions are supported, got ", matrix.sizes());
  const NoGradGuard guard;
  return matrix.copy_(eye(matrix.size(0), matrix.size(1), matrix.options()));
}
Tensor dirac_(Tensor t) {
  TANDEM_CHECK(t.dim() >= 3 && t.dim() <= 5, "dirac_: Only tensors with 3, 4, or 5 dimensions are supported, got ",
               t.sizes());
  const NoGradGuard guard;
  t.zero_();
  Tensor middle = t;
  while (middle.dim() > 2) middle = middle.select(2, middle.size(2) / 2);
  middle.diagonal().fill_(1);
  return t;
}
Tensor orthogonal_(Tensor t, double gain) {
  TANDEM_CHECK(t.dim() >= 2, "orthogonal_: Only tensors with 2 or more dimensions are supported, got ", t.sizes());
  const NoGradGuard guard;
  const int64_t rows = t.size(0), columns = rows ? t.numel() / rows : 0;
  if (t.numel() == 0) return t;
  const Tensor drawn = randn({std::max(rows, columns), std::min(rows, columns)}, t.options().requires_grad(false));
  const auto [q, r] = linalg_qr(drawn);
  const Tensor unique = q * r.diagonal().sign();  // uniformly distributed over orthogonal matrices, unlike LAPACK's q
  return t.copy_((rows < columns ? unique.t() : unique).reshape(t.sizes()) * gain);
}
Tensor sparse_(Tensor matrix, double sparsity, double std) {
  TANDEM_CHECK(matrix.dim() == 2, "sparse_: Only tensors with 2 dimensions are supported, got ", matrix.sizes());
  TANDEM_CHECK(sparsity >= 0 && sparsity <= 1, "sparse_: sparsity is ", sparsity, "; accepted: 0 to 1, both included");
  const NoGradGuard guard;
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(matrix.size(0))));
  matrix.normal_(0, std);
  const Tensor order = rand_like(matrix, TensorOptions(kFloat32)).argsort(0);  // a random permutation for each column
  return matrix.scatter_(0, order.narrow(0, 0, zeros), Scalar(0));
}
double calculate_gain(Nonlinearity nonlinearity, double a) {
  switch (nonlinearity) {
    case Nonlinearity::tanh: return 5.0 / 3;
    case Nonlinearity::relu: return std::sqrt(2.0);
    case Nonlinearity::leaky_relu: return std::sqrt(2.0 / (1 + a * a));
    default: return 1;
  }
}
Tensor xavier_uniform_(Tensor t, double gain) {
  if (t.numel() == 0) return t;
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(in + out));
  return uniform_(std::move(t), -bound, bound);
}
Tensor xavier_normal_(Tensor t, double gain) {
  if (t.numel() == 0) return t;
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return normal_(std::move(t), 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}
namespace {
double calculate_correct_fan(const Tensor& t, FanMode mode) {
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return static_cast<double>(mode == FanMode::fan_in ? in : out);
}
}  // namespace
Tensor kaiming_uniform_(Tensor t, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (t.numel() == 0) return t;
  const double bound = calculate_gain(nonlinearity, a) * std::sqrt(3.0 / calculate_correct_fan(t, mode));
  return uniform_(std::move(t), -bound, bound);
}
Tensor kaiming_normal_(Tensor t, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (t.numel() == 0) return t;
  const double std = calculate_gain(nonlinearity, a) / std::sqrt(calculate_correct_fan(t, mode));
  return normal_(std::move(t), 0, std);
}

}  // namespace tandem::nn::init
