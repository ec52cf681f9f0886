#include "tandem/ops/random/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/inplace.h"
#include "tandem/core/rank_context.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/random/random_checks.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/reduce/search.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using namespace detail;

namespace {
/// What was drawn with parameters that are tensors: steps, whose derivative is 0.
Tensor flat_in_parameters(const char* op, const Tensor& y, const Tensor& a, const Tensor& b = {}) {
  const Tensor other = b.defined() ? b : a.detach();
  return record(op, y, {a, other}, {},
                [one = Shape(a.sizes()), two = Shape(other.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.needs_grad(0) ? zeros(one, dy.options()) : Tensor(),
                          ctx.needs_grad(1) ? zeros(two, dy.options()) : Tensor()};
                });
}
/// Writes draw(uniform numbers in [0, 1)) into x. They are of x's dtype, of float32 for half types and of float64 for
/// integers.
template <class Transform> Tensor& transformed(const char* op, Tensor& x, const Transform& transform) {
  const auto draw = [&] {
    const NoGradGuard guard;
    const DType type = is_half(x.dtype()) ? kFloat32 : x.is_floating_point() ? x.dtype() : kFloat64;
    return transform(rand(x.sizes(), TensorOptions(type).device(x.device())));
  };
  return autograd::inplace(
      op, x, {}, [&] { copy_elements(draw(), x); }, [&](const Tensor&) { return draw().to(x.dtype()); },
      autograd::Old::replaced);
}
void check_floating(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), op, ": dtype is ", x.dtype(), "; accepted: floating point");
}
}  // namespace

Tensor& Tensor::exponential_(double lambd) const {
  check_floating("exponential_", self());
  TANDEM_CHECK(lambd > 0, "exponential_: lambd is ", lambd, "; it must be positive");
  return transformed("exponential_", self(), [=](const Tensor& u) { return (-u).log1p() * (-1 / lambd); });
}
Tensor& Tensor::geometric_(double p) const {
  TANDEM_CHECK(p > 0 && p < 1 && dtype() != kBool, "geometric_: p is ", p, " of ", dtype(),
               "; accepted: numbers, and 0 < p < 1");
  return transformed("geometric_", self(),
                     [=](const Tensor& u) { return ((-u).log1p() * (1 / std::log1p(-p))).floor() + 1; });
}
Tensor& Tensor::cauchy_(double median, double sigma) const {
  check_floating("cauchy_", self());
  TANDEM_CHECK(sigma > 0, "cauchy_: sigma is ", sigma, "; it must be positive");
  return transformed("cauchy_", self(),
                     [=](const Tensor& u) { return ((u - 0.5) * std::numbers::pi).tan() * sigma + median; });
}
Tensor& Tensor::log_normal_(double mean, double std) const {
  check_floating("log_normal_", self());
  TANDEM_CHECK(std > 0, "log_normal_: std is ", std, "; it must be positive");
  const auto draw = [&] {
    const NoGradGuard guard;
    return normal(mean, std, sizes(), options()).exp_();
  };
  return autograd::inplace(
      "log_normal_", self(), {}, [&] { copy_elements(draw(), self()); }, [&](const Tensor&) { return draw(); },
      autograd::Old::replaced);
}
Tensor& Tensor::random_() const {
  if (dtype() == kFloat64) return random_(0, (int64_t{1} << 53) + 1);
  if (dtype() == kFloat32) return random_(0, (int64_t{1} << 24) + 1);
  if (dtype() == kFloat16) return random_(0, (int64_t{1} << 11) + 1);
  if (dtype() == kBFloat16) return random_(0, (int64_t{1} << 8) + 1);
  const int64_t most = visit_dtype(dtype(), []<class T>() -> int64_t {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
    return 0;
  });
  return random_(0, most == std::numeric_limits<int64_t>::max() ? most : most + 1);
}

namespace {
/// Uniform numbers below p: as the kernel of bernoulli_(double) has it, by 24 bits.
Tensor draw_below(const Tensor& p, IntArrayRef sizes) {
  const NoGradGuard guard;
  check_each_in_range("bernoulli", "p", p, 0, 1);
  return rand(sizes, TensorOptions(kFloat32).device(p.device())) < p.to(p.dtype() == kFloat64 ? kFloat64 : kFloat32);
}
}  // namespace
Tensor& Tensor::bernoulli_(const Tensor& p) const {
  check_floating("bernoulli_", p);
  TANDEM_CHECK(broadcast_shapes("bernoulli_", sizes(), p.sizes()) == sizes(), "bernoulli_: p is ", p.sizes(),
               " for x of ", sizes(), "; it must broadcast to that");
  TANDEM_CHECK(p.device() == device(), "bernoulli_: p is on ", p.device(), " and x on ", device(),
               "; both must be on one device");
  return autograd::inplace(
      "bernoulli_", self(), {}, [&] { copy_elements(draw_below(p, sizes()), self()); },
      [&](const Tensor&) { return draw_below(p, sizes()).to(dtype()); }, autograd::Old::replaced);
}
Tensor Tensor::bernoulli() const {
  check_floating("bernoulli", *this);
  return flat_in_parameters("bernoulli", draw_below(*this, sizes()).to(dtype()), *this);
}
Tensor Tensor::bernoulli(double p) const { return empty_like(*this).bernoulli_(p); }
Tensor Tensor::bernoulli(const Tensor& p) const {
  return flat_in_parameters("bernoulli", empty_like(*this).bernoulli_(p.detach()), *this, p);
}

Tensor Tensor::multinomial(int64_t num_samples, Flag replacement) const {
  check_floating("multinomial", *this);
  TANDEM_CHECK((dim() == 1 || dim() == 2) && num_samples > 0, "multinomial: x is ", sizes(), " and num_samples ",
               num_samples, "; accepted: (n) or (rows, n), and one sample or more");
  const int64_t n = size(-1);
  TANDEM_CHECK(replacement || num_samples <= n, "multinomial: num_samples is ", num_samples, " of ", n,
               "; accepted: at most as many, or with replacement");
  const NoGradGuard guard;
  const double most = std::numeric_limits<double>::max();
  check_each_in_range("multinomial", "a probability", *this, 0, most);
  const Tensor p = detach().to(kFloat64).reshape({-1, n});
  check_each_in_range("multinomial", "the sum of the probabilities", p.sum(1), std::numeric_limits<double>::min(),
                      most);
  const TensorOptions wide = p.options();
  Tensor y;
  if (replacement) {
    const Tensor sums = p.cumsum(1), total = sums.narrow(1, n - 1, 1);
    const Tensor last = (sums < total).sum(1, true);  // what comes behind it has a probability of 0
    y = searchsorted(sums, rand({p.size(0), num_samples}, wide) * total, false, /*right=*/true).minimum(last);
  } else {  // the first to happen, if each happens with that rate
    const Tensor times =
        tandem::where(p > 0, (-rand(p.sizes(), wide)).log1p() * -1.0 / p, std::numeric_limits<double>::infinity());
    y = std::get<1>(times.topk(num_samples, 1, /*largest=*/false));
  }
  return dim() == 1 ? y.reshape({num_samples}) : y;
}

Tensor normal(double mean, double std, IntArrayRef sizes, const TensorOptions& options) {
  Tensor y = empty(sizes, options.requires_grad(false)).normal_(mean, std);
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor normal(const Tensor& mean, double std) {
  TANDEM_CHECK(std >= 0, "normal: standard deviation is ", std, "; it must not be negative");
  check_floating("normal", mean);
  return flat_in_parameters("normal", randn_like(mean.detach()).mul_(std).add_(mean.detach()), mean);
}
Tensor normal(double mean, const Tensor& std) {
  check_floating("normal", std);
  check_each_in_range("normal", "a standard deviation", std, 0, std::numeric_limits<double>::infinity());
  return flat_in_parameters("normal", randn_like(std.detach()).mul_(std.detach()).add_(mean), std);
}
Tensor normal(const Tensor& mean, const Tensor& std) {
  check_floating("normal", mean), check_floating("normal", std);
  check_each_in_range("normal", "a standard deviation", std, 0, std::numeric_limits<double>::infinity());
  const Shape sizes = broadcast_shapes("normal", mean.sizes(), std.sizes());
  const Tensor y = randn(sizes, mean.options()) * std.detach() + mean.detach();
  return flat_in_parameters("normal", y, mean, std);
}

Tensor exponential(const Tensor& x, double lambd) { return empty_like(x).exponential_(lambd); }
Tensor geometric(const Tensor& x, double p) { return empty_like(x).geometric_(p); }
Tensor cauchy(const Tensor& x, double median, double sigma) { return empty_like(x).cauchy_(median, sigma); }
Tensor log_normal(const Tensor& x, double mean, double std) { return empty_like(x).log_normal_(mean, std); }
Tensor uniform(const Tensor& x, double from, double to) { return empty_like(x).uniform_(from, to); }
Tensor random(const Tensor& x, int64_t from, std::optional<int64_t> to) {
  Tensor y = empty_like(x);
  if (to) return y.random_(from, *to);
  TANDEM_CHECK(from == 0, "random: from ", from, " without an end; accepted: from 0, or an end");
  return y.random_();
}
Tensor random(const Tensor& x, int64_t to) { return empty_like(x).random_(0, to); }
Tensor random(const Tensor& x) { return empty_like(x).random_(); }

}  // namespace tandem
