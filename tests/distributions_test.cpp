// Tests random numbers: their distributions by counts and moments at fixed seeds, reproducibility for equal seeds,
// draws
// inside a Graph, and error messages. Tolerances are five standard errors, unless a comment says otherwise.
#include <cmath>
#include <functional>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace {

constexpr int64_t kDraws = 20000;
double mean_of(const Tensor& x) { return x.to(kFloat64).mean().item<double>(); }
/// Returns the fraction of elements of `mask` that are true.
double part_of(const Tensor& mask) { return mean_of(mask); }
/// Checks that the fraction of true elements among kDraws elements is within five standard errors of p.
void check_part(const Tensor& mask, double p) {
  CHECK(std::abs(part_of(mask) - p) < 5 * std::sqrt(p * (1 - p) / kDraws) + 1e-12);
}
Tensor seeded(const std::function<Tensor()>& draw) {
  manual_seed(11);
  return draw();
}
Tensor drawn_numbers(DType dtype = kFloat64) { return empty({kDraws}, dtype); }

}  // namespace

TEST_CASE("continuous distributions have their distribution functions", "[random]") {
  const DType dtype = GENERATE(kFloat32, kFloat64);
  struct Case {
    const char* name;
    std::function<Tensor()> draw;
    std::function<double(double)> below;  // cumulative distribution function
  };
  const double pi = std::acos(-1.0);
  const auto normal_below = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const std::vector<Case> cases = {
      {"exponential_", [&] { return drawn_numbers(dtype).exponential_(2); },
       [](double x) { return x < 0 ? 0 : 1 - std::exp(-2 * x); }},
      {"cauchy_", [&] { return drawn_numbers(dtype).cauchy_(1, 0.5); },
       [=](double x) { return 0.5 + std::atan((x - 1) / 0.5) / pi; }},
      {"log_normal_", [&] { return drawn_numbers(dtype).log_normal_(0.5, 0.8); },
       [&](double x) { return x <= 0 ? 0 : normal_below((std::log(x) - 0.5) / 0.8); }},
      {"normal, tensors", [&] { return normal(full({kDraws}, 0.3, dtype), full({1}, 2, dtype)); },
       [&](double x) { return normal_below((x - 0.3) / 2); }},
      {"normal, mean", [&] { return normal(full({kDraws}, 0.3, dtype), 2); },
       [&](double x) { return normal_below((x - 0.3) / 2); }},
      {"normal, deviation", [&] { return normal(0.3, full({kDraws}, 2, dtype)); },
       [&](double x) { return normal_below((x - 0.3) / 2); }},
      {"normal, sizes", [&] { return normal(0.3, 2, {kDraws}, dtype); },
       [&](double x) { return normal_below((x - 0.3) / 2); }},
      {"uniform", [&] { return uniform(drawn_numbers(dtype), -1, 3); },
       [](double x) { return std::min(std::max((x + 1) / 4, 0.0), 1.0); }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Tensor x = seeded(c.draw);
    CHECK(x.dtype() == dtype);
    CHECK(x.sizes() == IntArrayRef({kDraws}));
    CHECK(x.isfinite().all().item<bool>());
    for (const double edge : {-2.0, -0.5, 0.1, 0.5, 1.0, 1.5, 3.0, 6.0}) check_part(x <= edge, c.below(edge));
    CHECK(seeded(c.draw).equal(x));
    CHECK(!c.draw().equal(x));
  }
}

TEST_CASE("counts have their probabilities", "[random]") {
  const auto log_choose = [](double n, double k) {
    return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  };
  const auto check_counts = [](const Tensor& x, double most, const std::function<double(double)>& probability) {
    CHECK(x.equal(x.floor()));
    double below = 0;
    for (double k = 0; k <= most; ++k) {
      below += probability(k);
      check_part(x <= k, std::min(below, 1.0));
    }
    CHECK(std::abs(below - 1) < 1e-6);  // the probabilities of 0 to `most` sum to 1
  };
  for (const double rate : {0.0, 0.7, 9.5, 10.5, 60.0}) {
    CAPTURE(rate);
    const auto draw = [&] { return poisson(full({kDraws}, rate, kFloat64)); };
    check_counts(seeded(draw), rate + 8 * std::sqrt(rate) + 8, [&](double k) {
      return rate == 0 ? k == 0 : std::exp(k * std::log(rate) - rate - std::lgamma(k + 1));
    });
    CHECK(seeded(draw).equal(seeded(draw)));
  }
  for (const auto& [n, p] :
       std::vector<std::pair<double, double>>{{12, 0.3}, {60, 0.4}, {60, 0.85}, {30, 0.97}, {5, 0.5}}) {
    CAPTURE(n, p);
    const Tensor x =
        seeded([&, n = n, p = p] { return binomial(full({kDraws}, n, kFloat64), full({1}, p, kFloat64)); });
    check_counts(x, n, [&, n = n, p = p](double k) {
      return std::exp(log_choose(n, k) + k * std::log(p) + (n - k) * std::log(1 - p));
    });
  }
  CHECK(binomial(tensor({0.0, 7.0, 7.0}), tensor({0.5, 0.0, 1.0})).equal(tensor({0.0, 0.0, 7.0})));
  const Tensor first = seeded([] { return drawn_numbers(kInt64).geometric_(0.3); });
  for (int64_t k = 1; k < 12; ++k) check_part(first <= k, 1 - std::pow(0.7, double(k)));
  CHECK(first.min().item<int64_t>() == 1);
  for (const double p : {0.0, 0.25, 1.0}) {
    check_part(seeded([&] { return bernoulli(full({kDraws}, p, kFloat64)); }) == 1, p);
    check_part(seeded([&] { return bernoulli(drawn_numbers(), p); }) == 1, p);
  }
  const Tensor coins = seeded([] { return zeros({kDraws, 2}, kInt64).bernoulli_(tensor({0.1, 0.8})); });
  check_part(coins.select(1, 0) == 1, 0.1);
  check_part(coins.select(1, 1) == 1, 0.8);
  // A scalar probability and a tensor of one element draw the same numbers.
  CHECK(seeded([] {
          return zeros({1000}).bernoulli_(0.3);
        }).equal(seeded([] { return zeros({1000}).bernoulli_(full({}, 0.3)); })));
}

TEST_CASE("multinomial draws positions by their weights", "[random]") {
  const Tensor weights = tensor({0.0, 3.0, 1.0, 0.0, 4.0, 0.0});
  const Tensor x = seeded([&] { return multinomial(weights, kDraws, true); });
  CHECK(x.dtype() == kInt64);
  for (const auto& [place, p] :
       std::vector<std::pair<int64_t, double>>{{0, 0}, {1, 0.375}, {2, 0.125}, {3, 0}, {4, 0.5}, {5, 0}})
    check_part(x == place, p);
  // Draws without replacement: the first index by weight, the second by weight among the indices not yet drawn.
  const Tensor rows = weights.expand({kDraws, 6}).to(kFloat32);
  const Tensor y = seeded([&] { return multinomial(rows, 3); }), first = y.select(1, 0), second = y.select(1, 1);
  CHECK(std::get<0>(y.sort()).equal(tensor({1, 2, 4}).expand({kDraws, 3})));
  check_part(first == 4, 0.5);
  check_part(first == 1, 0.375);
  check_part(second == 4, 0.375 * 0.8 + 0.125 * 4 / 7.0);
  CHECK(seeded([&] { return multinomial(rows, 3); }).equal(y));
  CHECK(multinomial(rows, 5, true).sizes() == IntArrayRef({kDraws, 5}));
}

TEST_CASE("integers at random cover their range", "[random]") {
  manual_seed(2);
  for (const DType dtype : {kUInt8, kInt8, kInt64, kBool}) {
    const Tensor x = empty({kDraws}, dtype).random_();
    CHECK((x.to(kInt64) >= 0).all().item<bool>());
    if (dtype != kInt64)
      CHECK(x.to(kInt64).max().item<int64_t>() == (dtype == kUInt8 ? 255 : dtype == kInt8 ? 127 : 1));
    if (dtype == kInt64) check_part(x > (int64_t{1} << 62), 0.5);
  }
  const Tensor x = randint_like(zeros({kDraws}), 3, 7), y = random(x, 5), z = random(x, -2, 2);
  CHECK(x.dtype() == kFloat32);
  for (int64_t k = 3; k < 7; ++k) check_part(x == k, 0.25);
  for (int64_t k = 0; k < 5; ++k) check_part(y == k, 0.2);
  check_part(z == -2, 0.25);
  CHECK(randint_like(x, 2, kInt64).max().item<int64_t>() == 1);
}

TEST_CASE("gumbel_softmax chooses as softmax weighs", "[random]") {
  namespace F = nn::functional;
  const Tensor logits = tensor({0.0, 1.0, 2.0}).expand({kDraws, 3}).contiguous().requires_grad_();
  const auto hard = F::GumbelSoftmaxFuncOptions().hard(true).tau(0.5);
  const Tensor y = seeded([&] { return F::gumbel_softmax(logits, hard); }),
               soft = seeded([&] { return F::gumbel_softmax(logits, F::GumbelSoftmaxFuncOptions().tau(0.5)); });
  CHECK(y.detach().sum(1).allclose(ones({kDraws})));
  CHECK(soft.detach().sum(1).allclose(ones({kDraws})));
  CHECK(y.detach().argmax(1).equal(soft.detach().argmax(1)));
  const double total = 1 + std::exp(1.0) + std::exp(2.0);
  for (int k = 0; k < 3; ++k) check_part(y.detach().select(1, k) > 0.5, std::exp(double(k)) / total);
  const Tensor seed = rand({kDraws, 3});
  CHECK(autograd::grad({y}, {logits}, {seed})[0].equal(autograd::grad({soft}, {logits}, {seed})[0]));
}

TEST_CASE("parameters at random get a gradient of zero, and a Graph draws anew", "[random]") {
  Tensor p = full({4}, 0.5).requires_grad_();
  for (const Tensor& y :
       {bernoulli(p), poisson(p), binomial(ones({4}), p), normal(p, 1.0), normal(p, p), normal(0, p)}) {
    y.sum().backward();
    CHECK(p.grad().equal(zeros({4})));
    p.zero_grad();
  }
  // Two parameters of different shapes: each gets zeros of its own shape and dtype.
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor column = full({3, 1}, 0.5, dtype).requires_grad_(), row = full({2}, 0.5, dtype).requires_grad_();
    Tensor one = full({3, 2}, 0.5, dtype).requires_grad_();
    const auto check = [](const Tensor& y, const Tensor& a, const Tensor& b) {
      const std::vector<Tensor> grads = autograd::grad({y.sum()}, {a, b});
      CHECK(grads[0].equal(zeros_like(a)));
      CHECK(grads[0].dtype() == a.dtype());
      CHECK(grads[1].equal(zeros_like(b)));
      CHECK(grads[1].dtype() == b.dtype());
    };
    check(normal(column, row), column, row);
    check(one.bernoulli(row), one, row);
  }
  Tensor x = zeros({64});
  Tensor coins;
  Graph graph;
  graph.capture([&] {
    x.exponential_();
    coins = bernoulli(full({64}, 0.5));
  });
  graph.replay();
  const Tensor first = x.clone(), side = coins.clone();
  graph.replay();
  CHECK(!x.equal(first));
  CHECK(!coins.equal(side));
  CHECK((x > 0).any().item<bool>());
  CHECK_THROWS_WITH(graph.capture([&] { poisson(x); }), Contains("poisson: cannot be captured by a Graph"));
  CHECK_THROWS_WITH(graph.capture([&] { binomial(x, x); }), Contains("binomial: cannot be captured by a Graph"));
  CHECK_THROWS_WITH(graph.capture([&] { x.to(kInt64).bincount(); }),
                    Contains("bincount: cannot be captured by a Graph"));
  CHECK_THROWS_WITH(graph.capture([&] { _unique2(x); }), Contains("_unique2: cannot be captured by a Graph"));
  CHECK_THROWS_WITH(graph.capture([&] { x.histc(); }), Contains("histc: cannot be captured by a Graph"));
}

TEST_CASE("distributions say which parameters they take", "[random][errors]") {
  Tensor x = ones({3}), n = ones({3}, kInt64);
  CHECK_THROWS_WITH(n.exponential_(), Contains("exponential_: dtype is int64"));
  CHECK_THROWS_WITH(x.exponential_(0), Contains("exponential_ expects lambda > 0.0, but found lambda=0"));
  CHECK_THROWS_WITH(x.geometric_(1), Contains("geometric_ expects p to be in (0, 1), but got p=1"));
  CHECK_THROWS_WITH(x.cauchy_(0, -1), Contains("cauchy_ expects sigma > 0.0, but found sigma=-1"));
  CHECK_THROWS_WITH(x.log_normal_(0, 0), Contains("log_normal_ expects std > 0.0, but found std=0"));
  CHECK_THROWS_WITH(bernoulli(n), Contains("bernoulli: dtype is int64"));
  CHECK_THROWS_WITH(bernoulli(x * 1.5), Contains("bernoulli: p must be in [0, 1]; found 1.5"));
  CHECK_THROWS_WITH(x.bernoulli_(ones({2, 3})), Contains("bernoulli_: p is (2, 3)"));
  CHECK_THROWS_WITH(multinomial(x, 4),
                    Contains("multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement"));
  CHECK_THROWS_WITH(multinomial(-x, 1),
                    Contains("probability tensor contains either `inf`, `nan` or element < 0; found -1"));
  CHECK_THROWS_WITH(multinomial(x * 0, 1), Contains("invalid multinomial distribution (sum of probabilities <= 0)"));
  CHECK_THROWS_WITH(multinomial(n, 1), Contains("multinomial: dtype is int64"));
  CHECK_THROWS_WITH(poisson(-x), Contains("poisson: invalid Poisson rate, expected rate to be non-negative"));
  CHECK_THROWS_WITH(binomial(x, x * 2), Contains("binomial: prob must be in [0, 1]; found 2"));
  CHECK_THROWS_WITH(binomial(x, x.to(kFloat64)),
                    Contains("binomial: expected count and prob to have the same dtype, but got: float32"));
  CHECK_THROWS_WITH(normal(x, -1.0), Contains("normal expects std >= 0.0, but found std -1"));
  CHECK_THROWS_WITH(normal(x, -x), Contains("normal expects all elements of std >= 0.0; found -1"));
  CHECK_THROWS_WITH(random(x, 3, nullopt), Contains("random: from is 3"));
}

}  // namespace tandem
