// Tests optimizers and schedules against PyTorch (fixtures/optim.json).
#include <cmath>
#include <memory>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"
#if TANDEM_TEST_EMULATED
#include "tandem/emulation/emulation.h"
#endif

using namespace tandem;
using nlohmann::json;
using test::from_formula;
using test::Parameters;

namespace {

const json& fixture() {
  static const json all = test::read_json("optim.json");
  return all;
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
  if (name == "restarts") return std::make_unique<CosineAnnealingWarmRestarts>(o, 3);
  if (name == "restarts/longer") return std::make_unique<CosineAnnealingWarmRestarts>(o, 2, 2, 0.001);
  if (name == "constant") return std::make_unique<ConstantLR>(o);
  if (name == "constant/long") return std::make_unique<ConstantLR>(o, 0.5, 8);
  if (name == "polynomial") return std::make_unique<PolynomialLR>(o);
  if (name == "polynomial/power") return std::make_unique<PolynomialLR>(o, 12, 2.5);
  if (name == "multiplicative")
    return std::make_unique<MultiplicativeLR>(o, [](int64_t step) { return 1 - 0.02 * static_cast<double>(step); });
  const auto none = std::nullopt;
  if (name == "one_cycle") return std::make_unique<OneCycleLR>(o, std::vector<double>{0.5, 0.05}, 20);
  if (name == "one_cycle/linear")
    return std::make_unique<OneCycleLR>(o, 0.5, none, 5, 4, 0.2, "linear", true, 0.5, 0.8);
  if (name == "one_cycle/three_phase")
    return std::make_unique<OneCycleLR>(o, 0.5, 20, none, none, 0.35, "cos", true, std::vector<double>{0.8, 0.7},
                                        std::vector<double>{0.9, 0.95}, 10, 100, true);
  if (name == "one_cycle/no_momentum") return std::make_unique<OneCycleLR>(o, 0.5, 24, none, none, 0.3, "cos", false);
  using Schedules = std::vector<LRScheduler>;
  if (name == "sequential")
    return std::make_unique<SequentialLR>(
        o, Schedules{ConstantLR(o, 0.1, 3), ExponentialLR(o, 0.9), CosineAnnealingLR(o, 6)},
        std::vector<int64_t>{3, 9});
  if (name == "chained")
    return std::make_unique<ChainedScheduler>(
        Schedules{ConstantLR(o, 0.1, 4), ExponentialLR(o, 0.9), StepLR(o, 5, 0.5)});
  if (name == "chained/cosine")
    return std::make_unique<ChainedScheduler>(Schedules{CosineAnnealingLR(o, 6, 0.001), LinearLR(o, 0.2, 1, 4),
                                                        MultiplicativeLR(o, [](int64_t) { return 0.97; })});
  const auto decay = [](int64_t step) { return std::pow(0.95, static_cast<double>(step)); };
  if (name == "chained/lambda")
    return std::make_unique<ChainedScheduler>(Schedules{LambdaLR(o, decay), StepLR(o, 4, 0.1)});
  REQUIRE(name == "lambda");
  return std::make_unique<LambdaLR>(o, decay);
}

}  // namespace

TEST_CASE("ten steps of every optimizer give PyTorch's parameters", "[optim]") {
  const bool strided = GENERATE(false, true);  // true: gradients with stride 2
  size_t compared = 0;
  for (const json& row : fixture().at("optimizers")) {
    const std::string name = row.at("name");
    CAPTURE(name, strided);
    const DType dtype = name.ends_with("/float32") ? kFloat32 : kFloat64;
    const Parameters p = {from_formula({3, 4}, 1, dtype).requires_grad_(),
                          from_formula({5}, 2, dtype).requires_grad_()};
    const auto optimizer =
        test::make_optimizer(row.at("optimizer"), row.at("options"), p, /*grouped=*/name.ends_with("/groups"));
    for (uint32_t step = 1; step <= 10; ++step) {
      for (uint32_t k = 0; k < 2; ++k) {
        const Tensor grad = from_formula(p[k].sizes(), 100 * step + k + 1, dtype);
        p[k].set_grad(strided ? stack({full_like(grad, NAN), grad}, -1).select(-1, 1) : grad);
      }
      optimizer->step();
      const auto recorded = row.at("steps").find(std::to_string(step));
      if (recorded == row.at("steps").end()) continue;
      for (size_t k = 0; k < 2; ++k) {
        const auto expected = recorded->at(k == 0 ? "a" : "b").get<std::vector<double>>();
        CAPTURE(step, k);
        REQUIRE(p[k].numel() == static_cast<int64_t>(expected.size()));
        const Tensor found = p[k].detach().to(kFloat64);
        const double margin = dtype == kFloat64 ? 1e-12 : 2e-6;  // tolerance: ten updates of numbers near 1
        for (size_t i = 0; i < expected.size(); ++i)
          CHECK(found.data_ptr<double>()[i] == Approx(expected[i]).epsilon(0).margin(margin));
      }
    }
    ++compared;
  }
  CHECK(compared == 48);
}

TEST_CASE("schedules give PyTorch's learning rates, before the first step and after each", "[optim]") {
  REQUIRE(fixture().at("schedulers").size() == 23);
  for (const json& row : fixture().at("schedulers")) {
    CAPTURE(row.at("name"));
    const json& base = fixture().at("base_rates");
    optim::SGD optimizer({zeros({1}).requires_grad_()}, optim::SGDOptions(base[0]).momentum(0.3));
    optimizer.add_param_group(
        {{zeros({1}).requires_grad_()}, std::make_unique<optim::SGDOptions>(optim::SGDOptions(base[1]).momentum(0.3))});
    const auto scheduler = make_scheduler(row.at("name"), optimizer);
    for (size_t step = 0; step < row.at("rates").size(); ++step) {
      CAPTURE(step);
      // PyTorch multiplies step by step, Tandem evaluates the closed form: twenty roundings apart.
      for (size_t group = 0; group < 2; ++group) {
        const double rate = row["rates"][step][group];
        CHECK(scheduler->get_last_lr().at(group) == Approx(rate).epsilon(1e-12).margin(1e-16));
        if (!row.contains("momenta")) continue;
        const auto& options = static_cast<optim::SGDOptions&>(optimizer.param_groups()[group].options());
        CHECK(options.momentum() == Approx(row["momenta"][step][group].get<double>()).epsilon(1e-12));
      }
      scheduler->step();
    }
  }
}

TEST_CASE("ReduceLROnPlateau lowers the rates when PyTorch's does", "[optim]") {
  using optim::ReduceLROnPlateauScheduler;
  REQUIRE(fixture().at("plateaus").size() == 6);
  for (const json& row : fixture().at("plateaus")) {
    CAPTURE(row.at("name"));
    const json &base = fixture().at("base_rates"), &o = row.at("options");
    optim::SGD optimizer({zeros({1}).requires_grad_()}, optim::SGDOptions(base[0]));
    optimizer.add_param_group({{zeros({1}).requires_grad_()}, std::make_unique<optim::SGDOptions>(base[1])});
    ReduceLROnPlateauScheduler scheduler(
        optimizer, o.value("mode", "min") == "min" ? ReduceLROnPlateauScheduler::min : ReduceLROnPlateauScheduler::max,
        o.value("factor", 0.1), o.value("patience", 10), o.value("threshold", 1e-4),
        o.value("threshold_mode", "rel") == "rel" ? ReduceLROnPlateauScheduler::rel : ReduceLROnPlateauScheduler::abs,
        o.value("cooldown", 0), o.value("min_lr", std::vector<double>()), o.value("eps", 1e-8));
    for (size_t epoch = 0; epoch < fixture().at("metrics").size(); ++epoch) {
      CAPTURE(epoch);
      scheduler.step(fixture()["metrics"][epoch]);
      for (size_t group = 0; group < 2; ++group)
        CHECK(scheduler.get_last_lr().at(group) == row.at("rates")[epoch][group].get<double>());
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
  CHECK_THROWS_WITH(optim::SGD({w}, -0.1), Contains("SGD: Invalid learning rate: -0.1"));
  CHECK_THROWS_WITH(optim::SGD({w}, optim::SGDOptions(0.1).nesterov(true)),
                    Contains("Nesterov momentum requires a momentum and zero dampening"));
  CHECK_THROWS_WITH(optim::Adam({w}, optim::AdamOptions(0.1).betas({0.9, 1.5})),
                    Contains("Invalid beta parameter at index 1: 1.5"));
  CHECK_THROWS_WITH(optim::Adam(Parameters()), Contains("optimizer got an empty parameter list"));
  CHECK_THROWS_WITH(optim::AdamW({w}, optim::AdamWOptions(0.1).betas({1, 0.9})),
                    Contains("AdamW: Invalid beta parameter at index 0: 1;"));
  CHECK_THROWS_WITH(optim::Adam({w}, optim::AdamOptions(0.1).eps(-1)), Contains("Adam: Invalid epsilon value: -1"));
  CHECK_THROWS_WITH(optim::SGD({w}, optim::SGDOptions(0.1).weight_decay(-2)),
                    Contains("SGD: Invalid weight_decay value: -2"));
  CHECK_THROWS_WITH(optim::SGD({w * 2}, 0.1), Contains("can't optimize a non-leaf Tensor"));
  CHECK_THROWS_WITH(optim::SGD({w, w}, 0.1),
                    Contains("some parameters appear in more than one parameter group") && Contains("(2,)"));
  optim::SGD optimizer({w}, 0.1);
  CHECK_THROWS_WITH(optim::StepLR(optimizer, 0), Contains("step_size is 0"));
  w.set_grad(ones({3}));
  CHECK_THROWS_WITH(optimizer.step(), Contains("(2,)") && Contains("(3,)"));
}

TEST_CASE("groups are changed one by one, by LibTorch's idiom, and added later", "[optim]") {
  const Tensor a = ones({2}).requires_grad_(), b = ones({2}).requires_grad_(), c = ones({2}).requires_grad_();
  std::vector<optim::OptimizerParamGroup> groups{Parameters{a}, Parameters{b}};
  optim::SGD optimizer(groups, optim::SGDOptions(1));
  for (auto& group : optimizer.param_groups())
    if (group.has_options() && group.params()[0].is_same(b)) static_cast<optim::SGDOptions&>(group.options()).lr(0.25);
  optimizer.add_param_group({{c}, std::make_unique<optim::SGDOptions>(0.5)});
  CHECK(optimizer.parameters().size() == 3);
  for (const Tensor& p : optimizer.parameters()) p.set_grad(ones({2}));
  optimizer.step();
  CHECK(a.equal(zeros({2})));
  CHECK(b.equal(full({2}, 0.75)));
  CHECK(c.equal(full({2}, 0.5)));
  optimizer.set_lr(2);
  CHECK(optimizer.param_groups()[2].options().get_lr() == 2);
  CHECK_THROWS_WITH(optimizer.add_param_group({{a}}), Contains("twice"));
  CHECK_THROWS_WITH(optimizer.add_param_group({{ones({1})}, std::make_unique<optim::AdamOptions>()}),
                    Contains("SGD") && Contains("another optimizer"));
  CHECK(optimizer.param_groups().size() == 3);
}

TEST_CASE("one optimizer updates parameters on two devices as two optimizers would", "[optim]") {
  set_cpu_device_count(2);
  const bool adam = GENERATE(true, false);
  const auto train = [&](std::vector<Parameters> each) {  // makes one optimizer for each list of parameters
    std::vector<std::unique_ptr<optim::Optimizer>> optimizers;
    for (const Parameters& p : each)
      if (adam)
        optimizers.push_back(std::make_unique<optim::Adam>(p, optim::AdamOptions(0.1)));
      else
        optimizers.push_back(std::make_unique<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9)));
    for (uint32_t step = 1; step <= 5; ++step) {
      uint32_t salt = 10 * step;
      for (const Parameters& list : each)
        for (const Tensor& p : list) p.set_grad(from_formula(p.sizes(), ++salt).to(p.device()));
      for (const auto& optimizer : optimizers) optimizer->step();
    }
  };
  const auto parameters = [] {
    return Parameters{from_formula({3}, 1).requires_grad_(),
                      from_formula({4}, 2).to(Device("cpu:1")).detach().requires_grad_()};
  };
  const Parameters together = parameters(), apart = parameters();
  train({together});
  train({{apart[0]}, {apart[1]}});
  for (size_t i = 0; i < 2; ++i) CHECK(together[i].equal(apart[i]));
  CHECK(together[1].device() == Device("cpu:1"));
  set_cpu_device_count(1);
}

TEST_CASE("step calls a closure, recorded, and returns its loss", "[optim]") {
  const Tensor w = ones({2}).requires_grad_();
  optim::SGD optimizer({w}, 0.25);
  const NoGradGuard guard;
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor loss = w.square().sum();
    loss.backward();
    return loss;
  });
  CHECK(loss.item<float>() == 2);
  CHECK(w.equal(full({2}, 0.5)));
  CHECK_FALSE(optimizer.step().defined());
}

TEST_CASE("AMSGrad may be turned on late", "[optim]") {
  const Tensor w = ones({2}).requires_grad_();
  optim::Adam optimizer({w}, optim::AdamOptions(0.1));
  for (int i = 0; i < 2; ++i) {
    w.set_grad(ones({2}));
    optimizer.step();
    static_cast<optim::AdamOptions&>(optimizer.param_groups()[0].options()).amsgrad(true);
  }
  CHECK(optimizer.state().size() == 4);
}

TEST_CASE("an optimizer's state goes where its module goes", "[optim]") {
  set_cpu_device_count(2);
  const bool adam = GENERATE(true, false);
  nn::Linear moved(2, 2), stays(2, 2);
  stays->load_state_dict(moved->state_dict());
  const auto make_one = [&](const nn::Linear& layer) -> std::unique_ptr<optim::Optimizer> {
    if (adam) return std::make_unique<optim::AdamW>(layer->parameters(), optim::AdamWOptions(0.1).amsgrad(true));
    return std::make_unique<optim::SGD>(layer->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  };
  const auto a = make_one(moved), b = make_one(stays);
  for (int step = 0; step < 3; ++step) {
    const Tensor x = full({1, 2}, step + 1.0);
    moved(x.to(moved->weight.device())).square().sum().backward();
    stays(x).square().sum().backward();
    a->step();
    b->step();
    moved->to(Device("cpu:1"));
  }
  for (const auto& entry : a->state()) CHECK(entry.second.device() == Device("cpu:1"));
  CHECK(moved->weight.cpu().equal(stays->weight));
  set_cpu_device_count(1);
}

#if TANDEM_TEST_EMULATED
TEST_CASE("an optimizer's step on a GPU takes the same few launches for any number of parameters", "[optim][cuda]") {
  emulation::set_stream_seed(0);  // emulated work stays queued until it is waited for
  const bool adam = GENERATE(true, false);
  Parameters p;
  for (int64_t i = 1; i <= 60; ++i) {
    p.push_back(ones({i}, kCUDA).requires_grad_());
    p.back().set_grad(ones({i}, kCUDA));
  }
  std::unique_ptr<optim::Optimizer> optimizer = std::make_unique<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9));
  if (adam) optimizer = std::make_unique<optim::Adam>(p, optim::AdamOptions(0.1));
  optimizer->step();  // creates the state
  optimizer->step();  // momentum buffers exist from now on, which changes the kernel's arguments
  cuda::synchronize(kCUDA);
  optimizer->step();
  CHECK(emulation::num_pending_items(0) == (adam ? 2 : 1));
  emulation::reset_runtime();
}
#endif

TEST_CASE("what a group's own options leave as it was is the optimizer's", "[optim]") {
  const auto group = [](const auto& options) {
    using Options = std::decay_t<decltype(options)>;
    std::vector<optim::OptimizerParamGroup> groups;
    groups.emplace_back(Parameters{zeros({1}, requires_grad())}, std::make_unique<Options>(options));
    return groups;
  };
  // Expected: LibTorch 2.15. It treats a rate of 0.001 as not set, although SGD has no default rate.
  for (const auto& [given, used] : {std::pair(0.5, 0.5), {0.001, 0.7}, {0.0, 0.0}}) {
    SGD sgd(group(SGDOptions(given).nesterov(false)), SGDOptions(0.7).momentum(0.9).weight_decay(0.25));
    const auto& options = static_cast<const SGDOptions&>(sgd.param_groups()[0].options());
    CHECK(options.lr() == used);
    CHECK(options.momentum() == 0.9);
    CHECK(options.weight_decay() == 0.25);
  }
  Adam adam(group(AdamOptions().betas({0.8, 0.999}).weight_decay(0.5)),
            AdamOptions(0.7).betas({0.6, 0.5}).eps(0.25).amsgrad(true));
  const auto& options = static_cast<const AdamOptions&>(adam.param_groups()[0].options());
  CHECK(options.lr() == 0.7);
  CHECK(options.betas() == std::tuple(0.8, 0.999));  // both betas are one setting
  CHECK(options.eps() == 0.25);
  CHECK(options.weight_decay() == 0.5);
  CHECK(options.amsgrad());
}
