#include "tandem/nn/init.h"

#include <cmath>

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
double calculate_gain(Nonlinearity nonlinearity, double a) {
  switch (nonlinearity) {
    case Nonlinearity::tanh: return 5.0 / 3;
    case Nonlinearity::relu: return std::sqrt(2.0);
    case Nonlinearity::leaky_relu: return std::sqrt(2.0 / (1 + a * a));
    default: return 1;
  }
}
Tensor xavier_uniform_(Tensor t, double gain) {
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(in + out));
  return uniform_(std::move(t), -bound, bound);
}
Tensor xavier_normal_(Tensor t, double gain) {
  const auto [in, out] = calculate_fan_in_and_fan_out(t);
  return normal_(std::move(t), 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}
Tensor kaiming_uniform_(Tensor t, double a, Nonlinearity nonlinearity) {
  const double in = static_cast<double>(std::get<0>(calculate_fan_in_and_fan_out(t)));
  const double bound = calculate_gain(nonlinearity, a) * std::sqrt(3.0 / in);
  return uniform_(std::move(t), -bound, bound);
}
Tensor kaiming_normal_(Tensor t, double a, Nonlinearity nonlinearity) {
  const double in = static_cast<double>(std::get<0>(calculate_fan_in_and_fan_out(t)));
  return normal_(std::move(t), 0, calculate_gain(nonlinearity, a) / std::sqrt(in));
}

}  // namespace init

namespace utils {

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const NoGradGuard guard;
  double total = 0;
  for (const Tensor& p : parameters) {
    if (!p.grad().defined()) continue;
    const double n = p.grad().norm(norm_type).item<double>();
    total = std::isinf(norm_type) ? std::max(total, n) : total + std::pow(n, norm_type);
  }
  if (!std::isinf(norm_type)) total = std::pow(total, 1 / norm_type);
  TANDEM_CHECK(!error_if_nonfinite || std::isfinite(total), "clip_grad_norm_: the norm of the gradients is ", total);
  const double scale = max_norm / (total + 1e-6);
  if (scale < 1 || std::isnan(scale))
    for (const Tensor& p : parameters)
      if (p.grad().defined()) p.mutable_grad().mul_(scale);
  return total;
}
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGradGuard guard;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.mutable_grad().clamp_(-clip_value, clip_value);
}

}  // namespace utils
}  // namespace tandem::nn
