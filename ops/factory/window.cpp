// Window functions of signal processing: bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window.
#include "tandem/ops/factory/window.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/factory/tensor.h"

namespace tandem {
namespace {

/// Returns weight(n / N) for n = 0, 1, ..., computed on the host in double. N is length - 1, or length if periodic.
template <class Weight>
Tensor make_window(const char* op, int64_t length, bool periodic, const TensorOptions& options, const Weight& weight) {
  TANDEM_CHECK(length >= 0, op, " requires non-negative window_length, got window_length=", length);
  TANDEM_CHECK(is_floating_point(options.dtype()), op, " expects floating point dtypes, got: ", options.dtype());
  std::vector<double> weights(static_cast<size_t>(length), 1.0);
  const double last = static_cast<double>(periodic ? length : length - 1);
  if (length > 1)
    for (size_t n = 0; n < weights.size(); ++n) weights[n] = weight(static_cast<double>(n) / last);
  return tensor(weights, options.dtype(options.dtype()));
}
/// Returns I0(x), the sum of (x^2 / 4)^k / (k!)^2. All terms are positive, so nothing cancels.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (double k = 1; term > sum * 1e-17; ++k) sum += term *= x * x / 4 / (k * k);
  return sum;
}

}  // namespace

Tensor bartlett_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options) {
  return make_window("bartlett_window", window_length, periodic, options,
                     [](double t) { return 1 - std::abs(2 * t - 1); });
}
Tensor blackman_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options) {
  return make_window("blackman_window", window_length, periodic, options, [](double t) {
    const double angle = 2 * std::numbers::pi * t;
    // In this order of the terms, the sum is exactly 0 at both ends of the window, as in PyTorch.
    return 0.08 * std::cos(2 * angle) - 0.5 * std::cos(angle) + 0.42;
  });
}
Tensor hamming_window(int64_t window_length, detail::Flag periodic, double alpha, double beta,
                      const TensorOptions& options) {
  return make_window("hamming_window", window_length, periodic, options,
                     [=](double t) { return alpha - beta * std::cos(2 * std::numbers::pi * t); });
}
Tensor hann_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options) {
  return make_window("hann_window", window_length, periodic, options,
                     [](double t) { return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * t); });
}
Tensor kaiser_window(int64_t window_length, detail::Flag periodic, double beta, const TensorOptions& options) {
  // I0(beta) grows like e^|beta| and must fit into a double.
  TANDEM_CHECK(std::abs(beta) <= 700, "kaiser_window: beta is ", beta, "; accepted: -700 to 700");
  return make_window("kaiser_window", window_length, periodic, options, [beta](double t) {
    const double x = 2 * t - 1;
    return bessel_i0(beta * std::sqrt(std::max(1 - x * x, 0.0))) / bessel_i0(beta);
  });
}

}  // namespace tandem
