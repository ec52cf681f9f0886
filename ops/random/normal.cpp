// Normal and log-normal numbers: normal, normal_, log_normal, log_normal_.
#include "tandem/ops/random/normal.h"

#include <limits>

#include "tandem/kernels/fill.h"
#include "tandem/ops/random/fill_random.h"

namespace tandem {

Tensor& Tensor::normal_(double mean, double std) const {
  check_random_dtype("normal_", self());
  TANDEM_CHECK(std >= 0, "normal_: normal expects std >= 0.0, but found std ", std);
  return fill_random("normal_", self(), [&](const RandomReservation& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), normal, mean, std, d.state, d.offset, y);
  });
}
Tensor normal(double mean, double std, IntArrayRef sizes, const TensorOptions& options) {
  Tensor y = empty(sizes, options.requires_grad(false)).normal_(mean, std);
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor normal(const Tensor& mean, double std) {
  TANDEM_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  check_random_dtype("normal", mean);
  return record_with_zero_derivatives("normal", randn_like(mean.detach()).mul_(std).add_(mean.detach()), mean);
}
Tensor normal(double mean, const Tensor& std) {
  check_random_dtype("normal", std);
  check_each_in_range("normal", "normal expects all elements of std >= 0.0", std, 0,
                      std::numeric_limits<double>::infinity());
  return record_with_zero_derivatives("normal", randn_like(std.detach()).mul_(std.detach()).add_(mean), std);
}
Tensor normal(const Tensor& mean, const Tensor& std) {
  check_random_dtype("normal", mean);
  check_random_dtype("normal", std);
  check_each_in_range("normal", "normal expects all elements of std >= 0.0", std, 0,
                      std::numeric_limits<double>::infinity());
  const Shape sizes = broadcast_shapes("normal", mean.sizes(), std.sizes());
  const Tensor y = randn(sizes, mean.options()) * std.detach() + mean.detach();
  return record_with_zero_derivatives("normal", y, mean, std);
}
Tensor& Tensor::log_normal_(double mean, double std) const {
  check_random_dtype("log_normal_", self());
  TANDEM_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  const auto draw = [&] {
    const NoGradGuard guard;
    return normal(mean, std, sizes(), options()).exp_();
  };
  return autograd::run_inplace(
      "log_normal_", self(), {}, [&] { copy_elements(draw(), self()); }, [&](const Tensor&) { return draw(); },
      autograd::InplaceAccess::overwrite);
}
Tensor log_normal(const Tensor& x, double mean, double std) { return empty_like(x).log_normal_(mean, std); }

}  // namespace tandem
