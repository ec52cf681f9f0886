// Initial values: fans, gains, and the distributions that follow from them.
#include "tandem/nn/init.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/optim.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace init {

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
  TANDEM_CHECK(w.dim() >= 2, "fan in and fan out need a weight of two or more dimensions, got ", w.sizes());
  int64_t field = 1;
  for (int64_t d = 2; d < w.dim(); ++d) field *= w.size(d);
  return {w.size(1) * field, w.size(0) * field};
}
Tensor eye_(Tensor matrix) {
  TANDEM_CHECK(matrix.dim() == 2, "eye_: the tensor is ", matrix.sizes(), "; accepted: a matrix");
  const NoGradGuard guard;
  return matrix.copy_(eye(matrix.size(0), matrix.size(1), matrix.options()));
}
Tensor dirac_(Tensor t) {
  TANDEM_CHECK(t.dim() >= 3 && t.dim() <= 5, "dirac_: the tensor is ", t.sizes(), "; accepted: 3, 4 or 5 dimensions");
  const NoGradGuard guard;
  t.zero_();
  Tensor middle = t;
  while (middle.dim() > 2) middle = middle.select(2, middle.size(2) / 2);
  middle.diagonal().fill_(1);
  return t;
}
Tensor orthogonal_(Tensor t, double gain) {
  TANDEM_CHECK(t.dim() >= 2, "orthogonal_: the tensor is ", t.sizes(), "; accepted: two dimensions or more");
  const NoGradGuard guard;
  const int64_t rows = t.size(0), columns = rows ? t.numel() / rows : 0;
  if (t.numel() == 0) return t;
  const Tensor drawn = randn({std::max(rows, columns), std::min(rows, columns)}, t.options().requires_grad(false));
  const auto [q, r] = linalg_qr(drawn);
  const Tensor unique = q * r.diagonal().sign();  // uniform over all orthogonal matrices, which LAPACK's signs are not
  return t.copy_((rows < columns ? unique.t() : unique).reshape(t.sizes()) * gain);
}
Tensor sparse_(Tensor matrix, double sparsity, double std) {
  TANDEM_CHECK(matrix.dim() == 2, "sparse_: the tensor is ", matrix.sizes(), "; accepted: a matrix");
  TANDEM_CHECK(sparsity >= 0 && sparsity <= 1, "sparse_: sparsity is ", sparsity, "; accepted: 0 to 1");
  const NoGradGuard guard;
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(matrix.size(0))));
  matrix.normal_(0, std);
  const Tensor order = rand_like(matrix, TensorOptions(kFloat32)).argsort(0);  // a permutation for each column
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
double fan(const Tensor& t, FanMode mode) {
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return static_cast<double>(mode == FanMode::fan_in ? in : out);
}
}  // namespace
Tensor kaiming_uniform_(Tensor t, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (t.numel() == 0) return t;
  const double bound = calculate_gain(nonlinearity, a) * std::sqrt(3.0 / fan(t, mode));
  return uniform_(std::move(t), -bound, bound);
}
Tensor kaiming_normal_(Tensor t, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (t.numel() == 0) return t;
  const double std = calculate_gain(nonlinearity, a) / std::sqrt(fan(t, mode));
  return normal_(std::move(t), 0, std);
}

}  // namespace init

namespace utils {

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  check_not_recorded("clip_grad_norm_", "it returns a number; clip_grads_with_norm_ and get_total_norm return none");
  const NoGradGuard guard;
  std::map<std::pair<Device, DType>, std::vector<Tensor>> fused;  // gradients that one kernel call takes together
  std::vector<Tensor> others, seen;
  for (const Tensor& p : parameters) {
    if (!p.grad().defined()) continue;
    const Tensor& g = p.grad();
    if (std::any_of(seen.begin(), seen.end(), [&](const Tensor& other) { return g.is_same(other); })) continue;
    seen.push_back(g);
    const bool real = g.dtype() == kFloat32 || g.dtype() == kFloat64;
    (real && core::is_dense(*g.impl()) ? fused[{g.device(), g.dtype()}] : others).push_back(g);
  }
  std::vector<double> norms;
  for (const auto& entry : fused) {
    const Device device = entry.first.first;
    const std::vector<Tensor>& gradients = entry.second;
    if (norm_type == 2) {
      Tensor squares = empty({}, TensorOptions(kFloat64).device(device));
      TANDEM_DISPATCH(device, sum_of_squares, gradients, squares);
      norms.push_back(std::sqrt(squares.item<double>()));
    } else {
      for (const Tensor& g : gradients) norms.push_back(g.norm(norm_type).item<double>());
    }
  }
  for (const Tensor& g : others) norms.push_back(g.norm(norm_type).item<double>());
  if (norms.empty()) return 0;
  const double total = tensor(norms, kFloat64).norm(norm_type).item<double>();
  TANDEM_CHECK(!error_if_nonfinite || std::isfinite(total), "clip_grad_norm_: the norm of the gradients is ", total);
  const double scale = max_norm / (total + 1e-6);
  if (scale >= 1) return total;
  for (auto& entry : fused) {
    const Device device = entry.first.first;
    TANDEM_DISPATCH(device, scale_all, scale, entry.second);
    for (const Tensor& g : entry.second) g.bump_version();
  }
  for (Tensor& g : others) g.mul_(scale);
  return total;
}
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type, bool error_if_nonfinite) {
  const NoGradGuard guard;
  if (tensors.empty()) return zeros({});
  std::vector<Tensor> norms;
  norms.reserve(tensors.size());
  for (const Tensor& t : tensors) norms.push_back(t.norm(norm_type).to(tensors[0].device(), tensors[0].dtype()));
  const Tensor total = stack(norms).norm(norm_type);
  TANDEM_CHECK(!error_if_nonfinite || std::isfinite(total.item<double>()), "get_total_norm: the norm is ",
               total.item<double>());
  return total;
}
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm) {
  const NoGradGuard guard;
  TANDEM_CHECK(total_norm.dim() == 0, "clip_grads_with_norm_: total_norm is ", total_norm.sizes(),
               "; accepted: one number, as get_total_norm gives");
  const Tensor scale = (max_norm / (total_norm + 1e-6)).clamp_max(1);
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.mutable_grad().mul_(scale.to(p.device(), p.grad().dtype()));
}
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGradGuard guard;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.mutable_grad().clamp_(-clip_value, clip_value);
}

}  // namespace utils
}  // namespace tandem::nn
