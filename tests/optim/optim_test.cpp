// Optimizers and schedules against PyTorch's: fixtures/optim.json.
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"

using namespace tandem;
using nlohmann::json;

namespace {

const json& fixture() {
  static const json all = [] {
    std::ifstream file(std::string(TANDEM_TEST_FIXTURES) + "/optim.json");
    return json::parse(file);
  }();
  return all;
}

Tensor from_formula(IntArrayRef sizes, uint32_t salt) {
  Tensor t = empty(sizes, kFloat64);
  const std::vector<double> v = test::evaluate(test::real(std::vector<int64_t>(sizes.begin(), sizes.end())), salt);
  std::copy(v.begin(), v.end(), t.data_ptr<double>());
  return t;
}

using Parameters = std::vector<Tensor>;

std::unique_ptr<optim::Optimizer> make_optimizer(const json& row, const Parameters& parameters) {
  const json& o = row.at("options");
  const double lr = o.at("lr");
  if (row.at("optimizer") == "SGD") {
    auto options = optim::SGDOptions(lr).momentum(o.value("momentum", 0.0)).dampening(o.value("dampening", 0.0));
    options.weight_decay(o.value("weight_decay", 0.0)).nesterov(o.value("nesterov", false));
    return std::make_unique<optim::SGD>(parameters, options);
  }
  const auto set = [&](auto options) {  // what the row does not name keeps our default
    if (o.contains("betas")) options.betas({o["betas"][0].get<double>(), o["betas"][1].get<double>()});
    if (o.contains("eps")) options.eps(o["eps"]);
    if (o.contains("weight_decay")) options.weight_decay(o["weight_decay"]);
    if (o.contains("amsgrad")) options.amsgrad(o["amsgrad"]);
    return options;
  };
  if (row.at("optimizer") == "AdamW") return std::make_unique<optim::AdamW>(parameters, set(optim::AdamWOptions(lr)));
  return std::make_unique<optim::Adam>(parameters, set(optim::AdamOptions(lr)));
}

std::unique_ptr<optim::LRScheduler> make_scheduler(const std::string& name, optim::Optimizer& o) {
  using namespace optim;
  if (name == "step") return std::make_unique<StepLR>(o, 3, 0.5);
  if (name == "cosine") return std::make_unique<CosineAnnealingLR>(o, 8);
  if (name == "cosine/eta_min") return std::make_unique<CosineAnnealingLR>(o, 5, 0.002);
  if (name == "linear") return std::make_unique<LinearLR>(o);
  if (name == "linear/warmup") return std::make_unique<LinearLR>(o, 0.01, 1, 4);
  if (name == "multi_step") return std::make_unique<MultiStepLR>(o, std::vector<int64_t>{2, 5, 6}, 0.1);
  if (name == "exponential") return std::make_unique<ExponentialLR>(o, 0.9);
  REQUIRE(name == "lambda");
  return std::make_unique<LambdaLR>(o, [](int64_t step) { return std::pow(0.95, static_cast<double>(step)); });
}

}  // namespace

TEST_CASE("ten steps of every optimizer give PyTorch's parameters", "[optim]") {
  size_t compared = 0;
  for (const json& row : fixture().at("optimizers")) {
    const std::string name = row.at("name");
    if (name.ends_with("/groups")) continue;
    CAPTURE(name);
    const Parameters p = {from_formula({3, 4}, 1).requires_grad_(), from_formula({5}, 2).requires_grad_()};
    const auto optimizer = make_optimizer(row, p);
    for (uint32_t step = 1; step <= 10; ++step) {
      for (uint32_t k = 0; k < 2; ++k) p[k].set_grad(from_formula(p[k].sizes(), 100 * step + k + 1));
      optimizer->step();
      const auto recorded = row.at("steps").find(std::to_string(step));
      if (recorded == row.at("steps").end()) continue;
      for (size_t k = 0; k < 2; ++k) {
        const auto expected = recorded->at(k == 0 ? "a" : "b").get<std::vector<double>>();
        CAPTURE(step, k);
        REQUIRE(p[k].numel() == static_cast<int64_t>(expected.size()));
        for (size_t i = 0; i < expected.size(); ++i)  // 1e-12: ten float64 updates of numbers near 1
          CHECK(p[k].data_ptr<double>()[i] == Approx(expected[i]).epsilon(0).margin(1e-12));
      }
    }
    ++compared;
  }
  CHECK(compared == 13);
}

TEST_CASE("schedules give PyTorch's learning rates, before the first step and after each", "[optim]") {
  REQUIRE(fixture().at("schedulers").size() == 8);
  for (const json& row : fixture().at("schedulers")) {
    CAPTURE(row.at("name"));
    optim::SGD optimizer({zeros({1}).requires_grad_()}, fixture().at("base_rates")[0].get<double>());
    const auto scheduler = make_scheduler(row.at("name"), optimizer);
    for (const json& rates : row.at("rates")) {
      // PyTorch multiplies step by step, we evaluate the closed form: twenty roundings
      CHECK(optimizer.lr() == Approx(rates[0].get<double>()).epsilon(1e-12).margin(1e-16));
      scheduler->step();
    }
  }
}

TEST_CASE("an optimizer leaves parameters without a gradient as they are", "[optim]") {
  for (const bool adam : {true, false}) {
    const Tensor used = ones({2}).requires_grad_(), unused = ones({2}).requires_grad_();
    std::unique_ptr<optim::Optimizer> optimizer;
    if (adam)
      optimizer = std::make_unique<optim::AdamW>(Parameters{used, unused}, optim::AdamWOptions(0.1));
    else
      optimizer = std::make_unique<optim::SGD>(Parameters{used, unused}, optim::SGDOptions(0.1).weight_decay(1));
    (used * 2).sum().backward();
    optimizer->step();
    CHECK(unused.equal(ones({2})));
    CHECK_FALSE(used.equal(ones({2})));
    optimizer->zero_grad();
    CHECK_FALSE(used.grad().defined());
    used.set_grad(ones({2}));
    optimizer->zero_grad(/*set_to_none=*/false);
    CHECK(used.grad().equal(zeros({2})));
  }
}

TEST_CASE("a step between forward and backward is noticed", "[optim]") {
  Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, 0.1);
  const Tensor y = (w * w).sum();
  w.set_grad(ones({2}));
  optimizer.step();
  CHECK_THROWS_WITH(y.backward(), Contains("mul") && Contains("version 1") && Contains("version 0"));
}

TEST_CASE("optimizers refuse what makes no sense, with the value", "[optim]") {
  const Tensor w = ones({2}).requires_grad_();
  CHECK_THROWS_WITH(optim::SGD({w}, -0.1), Contains("lr") && Contains("-0.1"));
  CHECK_THROWS_WITH(optim::SGD({w}, optim::SGDOptions(0.1).nesterov(true)), Contains("nesterov"));
  CHECK_THROWS_WITH(optim::Adam({w}, optim::AdamOptions(0.1).betas({0.9, 1.5})), Contains("beta2") && Contains("1.5"));
  CHECK_THROWS_WITH(optim::Adam({}), Contains("at least one parameter"));
  CHECK_THROWS_WITH(optim::SGD({w * 2}, 0.1), Contains("leaves"));
  optim::SGD optimizer({w}, 0.1);
  CHECK_THROWS_WITH(optim::StepLR(optimizer, 0), Contains("step_size is 0"));
  w.set_grad(ones({3}));
  CHECK_THROWS_WITH(optimizer.step(), Contains("(2,)") && Contains("(3,)"));
}
