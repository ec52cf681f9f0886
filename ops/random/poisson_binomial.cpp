// Poisson and binomial numbers: poisson, binomial. The host draws them one by one, because the number of uniform
// numbers that an element takes depends on these numbers. For each element, a number from the device's generator seeds
// a separate random stream.
#include "tandem/ops/random/poisson_binomial.h"

#include <cmath>

#include "tandem/core/generator.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/philox.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/random/fill_random.h"

namespace tandem {

namespace {

/// Random stream of uniform numbers in (0, 1), for one element.
class UniformGenerator {
 public:
  explicit UniformGenerator(int64_t seed) : seed_(static_cast<uint64_t>(seed)) {}
  double next() { return (static_cast<double>(philox64(seed_, 0, 0, counter_++) >> 12) + 0.5) * 0x1p-52; }

 private:
  uint64_t seed_, counter_ = 0;
};

/// Returns ln(k!), as a sum of logarithms or from Stirling's series, with a relative error of 1e-13. (The C library's
/// lgamma is not thread-safe.)
double log_factorial(double k) {
  double sum = 0;
  if (k < 16) {
    for (double i = 2; i <= k; ++i) sum += std::log(i);
    return sum;
  }
  const double series = 1 / (12 * k) - 1 / (360 * k * k * k) + 1 / (1260 * std::pow(k, 5));
  return (k + 0.5) * std::log(k) - k + 0.9189385332046727 + series;  // 0.9189... is ln(sqrt(2 pi))
}
/// Draws a Poisson number by Hoermann's PTRS (transformed rejection): draws a point in a box of width a around the
/// mean, and accepts it by comparing logarithms of densities.
double sample_poisson(double rate, UniformGenerator& u) {
  if (!(rate > 0)) return 0;
  if (rate < 10) {  // counts the arrivals of a Poisson process, with exponential waiting times, up to time 1
    const double end = std::exp(-rate);
    double count = 0;
    for (double product = u.next(); product > end; product *= u.next()) ++count;
    return count;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double x = u.next() - 0.5, v = u.next(), edge = 0.5 - std::abs(x);
    const double k = std::floor((2 * a / edge + b) * x + rate + 0.43);
    if (edge >= 0.07 && v <= accepted) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double bound = std::log(v * inverse_alpha / (a / (edge * edge) + b));
    if (bound <= -rate + k * std::log(rate) - log_factorial(k)) return k;
  }
}
/// Draws a binomial number by Hoermann's BTRS, which works like PTRS. p must be at most 1/2.
double sample_binomial(double n, double p, UniformGenerator& u) {
  if (!(n > 0) || !(p > 0)) return 0;
  if (n * p < 10) {  // jumps from each success to the next by a random waiting time
    double at = 0, count = 0;
    const double scale = std::log1p(-p);
    while (true) {
      at += std::ceil(std::log(u.next()) / scale);
      if (at > n) return count;
      ++count;
    }
  }
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5, accepted = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p), odds = std::log(p / (1 - p));
  while (true) {
    const double x = u.next() - 0.5, v = u.next(), edge = 0.5 - std::abs(x);
    const double k = std::floor((2 * a / edge + b) * x + c);
    if (edge >= 0.07 && v <= accepted) return k;
    if (k < 0 || k > n) continue;
    const double bound = std::log(v * alpha / (a / (edge * edge) + b));
    const double density =
        log_factorial(mode) + log_factorial(n - mode) - log_factorial(k) - log_factorial(n - k) + (k - mode) * odds;
    if (bound <= density) return k;
  }
}

/// Returns draw(i, uniforms) for each element i of a result with the shape, dtype and device of `like`.
template <class Draw> Tensor draw_on_host(const char* op, const Tensor& like, const Draw& draw) {
  check_not_recorded(op, "the host draws the numbers");
  const NoGradGuard guard;
  Tensor seeds = core::empty({like.numel()}, kInt64, kCPU), y = core::empty(like.sizes(), kFloat64, kCPU);
  {
    const GeneratorGuard stream(default_generator(like.device()));
    seeds.random_(0, std::numeric_limits<int64_t>::max());
  }
  parallel_for(like.numel(), 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      UniformGenerator uniforms(seeds.data<int64_t>()[i]);
      y.data<double>()[i] = draw(i, uniforms);
    }
  });
  return y.to(like.device(), like.dtype());
}
Tensor to_host_double(const Tensor& x) {
  const NoGradGuard guard;
  return x.detach().to(kCPU, kFloat64).contiguous();
}

}  // namespace

Tensor poisson(const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), "poisson: dtype is ", x.dtype(), "; accepted: floating point");
  check_not_recorded("poisson", "the host draws the numbers");
  const Tensor rates = to_host_double(x);
  check_each_in_range("poisson", "invalid Poisson rate, expected rate to be non-negative and at most 2^62", rates, 0,
                      0x1p62);
  const auto draw = [&](int64_t i, UniformGenerator& u) { return sample_poisson(rates.data<double>()[i], u); };
  return record_op("poisson", draw_on_host("poisson", x, draw), {x}, {},
                   [](const BackwardContext&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
}
Tensor binomial(const Tensor& count, const Tensor& prob) {
  check_same_dtype_and_device("binomial", "count", count, "prob", prob);
  check_floating_point("binomial", count);
  check_not_recorded("binomial", "the host draws the numbers");
  const Shape sizes = broadcast_shapes("binomial", count.sizes(), prob.sizes());
  const Tensor n = to_host_double(count.detach().expand(sizes)), p = to_host_double(prob.detach().expand(sizes));
  check_each_in_range("binomial", "count must be in [0, 2^53]", n, 0, 0x1p53);
  check_each_in_range("binomial", "prob must be in [0, 1]", p, 0, 1);
  const auto draw = [&](int64_t i, UniformGenerator& u) {
    const double trials = n.data<double>()[i], chance = p.data<double>()[i];
    return chance <= 0.5 ? sample_binomial(trials, chance, u) : trials - sample_binomial(trials, 1 - chance, u);
  };
  const Tensor y = draw_on_host("binomial", core::empty(sizes, count.dtype(), count.device()), draw);
  return record_op(
      "binomial", y, {count, prob}, {},
      [one = Shape(count.sizes()), two = Shape(prob.sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
        return {zeros(one, dy.options()), zeros(two, dy.options())};
      });
}

}  // namespace tandem
