// Random numbers: properties that hold for every generator.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

// Prints the statistic, and whether it is within the bounds.
void check(const char* name, const torch::Tensor& value, double expected, double tolerance) {
  std::cout << name << ": "
            << (std::abs(value.item<double>() - expected) <= tolerance ? "as expected" : "NOT AS EXPECTED") << "\n";
}

int main() {
  torch::manual_seed(7);
  const torch::Tensor first = torch::rand({3, 4}), second = torch::rand({3, 4});
  torch::manual_seed(7);
  std::cout << torch::equal(first, torch::rand({3, 4})) << torch::equal(second, torch::rand({3, 4}))
            << torch::equal(first, second) << "\n";
  const int64_t n = 100000;
  const torch::Tensor u = torch::rand({n}, torch::kFloat64), g = torch::randn({n}, torch::kFloat64);
  check("mean of uniform", u.mean(), 0.5, 0.01);
  check("variance of uniform", u.var(), 1.0 / 12, 0.01);
  std::cout << u.ge(0).all().item<bool>() << u.lt(1).all().item<bool>() << "\n";
  check("mean of normal", g.mean(), 0, 0.02);
  check("standard deviation of normal", g.std(), 1, 0.02);
  check("fourth moment", g.pow(4).mean(), 3, 0.2);
  const torch::Tensor dice = torch::randint(1, 7, {n});
  std::cout << dice.scalar_type() << " " << dice.min().item<int64_t>() << " " << dice.max().item<int64_t>() << "\n";
  check("dice", dice.to(torch::kFloat64).mean(), 3.5, 0.05);
  check("sixes", dice.eq(6).to(torch::kFloat64).mean(), 1.0 / 6, 0.01);
  const torch::Tensor order = torch::randperm(1000);
  std::cout << torch::equal(std::get<0>(order.sort()), torch::arange(1000)) << torch::equal(order, torch::arange(1000))
            << "\n";
  const torch::Tensor coins = torch::bernoulli(torch::full({n}, 0.3));
  std::cout << coins.scalar_type() << " " << ((coins == 0) | (coins == 1)).all().item<bool>() << "\n";
  check("coins", coins.mean(), 0.3, 0.01);
  const torch::Tensor picks = torch::multinomial(torch::tensor({0.0, 1.0, 3.0}), n, /*replacement=*/true);
  std::cout << picks.scalar_type() << picks.sizes() << picks.eq(0).any().item<bool>() << "\n";
  check("multinomial", picks.eq(2).to(torch::kFloat32).mean(), 0.75, 0.01);
  const torch::Tensor three = std::get<0>(torch::multinomial(torch::ones({3}), 3).sort());
  std::cout << three << "\n";
  check("normal(5, 2)", torch::normal(5.0, 2.0, {n}).mean(), 5, 0.05);
  check("normal of tensors", at::normal(torch::arange(3, torch::kFloat32), torch::zeros({3})).sum(), 3, 1e-6);
  torch::Tensor x = torch::empty({n}, torch::kFloat64);
  check("uniform_", x.uniform_(-1, 3).mean(), 1, 0.05);
  check("normal_", x.normal_(2, 0.5).std(), 0.5, 0.02);
  check("exponential_", x.exponential_(4).mean(), 0.25, 0.01);
  check("bernoulli_", x.bernoulli_(0.8).mean(), 0.8, 0.01);
  check("geometric_", x.geometric_(0.5).mean(), 2, 0.05);
  check("log_normal_", x.log_normal_(0, 0.25).log().mean(), 0, 0.02);
  check("cauchy_", x.cauchy_(1, 2).median(), 1, 0.1);
  check("poisson", torch::poisson(torch::full({n}, 6.0)).mean(), 6, 0.1);
  std::cout << torch::randint(5, {2, 2}).random_(10).lt(10).all().item<bool>() << torch::rand_like(g).sizes()
            << torch::randn_like(u).scalar_type() << torch::randint_like(dice, 3).max().item<int64_t>() << "\n";
  // dropout keeps the mean, and drops in training only
  const torch::Tensor ones = torch::ones({n});
  const torch::Tensor dropped = torch::dropout(ones, 0.25, /*train=*/true);
  check("dropout", dropped.mean(), 1, 0.02);
  check("how many are dropped", dropped.eq(0).to(torch::kFloat32).mean(), 0.25, 0.01);
  std::cout << torch::equal(torch::dropout(ones, 0.25, false), ones) << dropped.max().item<float>() << "\n";
  // estimates pi from random points; checks that a random walk does not depend on the number of threads
  const torch::Tensor points = torch::rand({n, 2}, torch::kFloat64);
  check("pi", points.square().sum(1).lt(1).to(torch::kFloat64).mean() * 4, M_PI, 0.05);
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const torch::Tensor alone = torch::randn({1000}).cumsum(0);
  torch::manual_seed(1);
  torch::set_num_threads(2);
  std::cout << torch::equal(alone, torch::randn({1000}).cumsum(0)) << torch::get_num_threads() << "\n";
  try {
    torch::multinomial(torch::tensor({-1.0, 1.0}), 1);
    std::cout << "no error\n";
  } catch (const std::exception&) {
    std::cout << "no negative probabilities\n";
  }
  try {
    torch::randint(5, 5, {1});
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "no numbers between\n";
  }
  return 0;
}
