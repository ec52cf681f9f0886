// Random numbers of several distributions: exponential, geometric, cauchy, and their in-place versions.
#include "tandem/ops/random/distributions.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/random/fill_random.h"

namespace tandem {

Tensor& Tensor::exponential_(double lambd) const {
  check_random_dtype("exponential_", self());
  TANDEM_CHECK(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  return fill_transformed("exponential_", self(), [=](const Tensor& u) { return (-u).log1p() * (-1 / lambd); });
}
Tensor& Tensor::geometric_(double p) const {
  TANDEM_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  TANDEM_CHECK(dtype() != kBool, "geometric_: dtype is bool; accepted: every other dtype");
  return fill_transformed("geometric_", self(),
                          [=](const Tensor& u) { return ((-u).log1p() * (1 / std::log1p(-p))).floor() + 1; });
}
Tensor& Tensor::cauchy_(double median, double sigma) const {
  check_random_dtype("cauchy_", self());
  TANDEM_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  return fill_transformed("cauchy_", self(),
                          [=](const Tensor& u) { return ((u - 0.5) * std::numbers::pi).tan() * sigma + median; });
}
Tensor exponential(const Tensor& x, double lambd) { return empty_like(x).exponential_(lambd); }
Tensor geometric(const Tensor& x, double p) { return empty_like(x).geometric_(p); }
Tensor cauchy(const Tensor& x, double median, double sigma) { return empty_like(x).cauchy_(median, sigma); }

}  // namespace tandem
