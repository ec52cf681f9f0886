// Tests learning-rate schedules against closed forms and PyTorch's rates.
#include <cmath>

#include "tandem/optim/lr_scheduler.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::optim;

namespace {

SGD make_optimizer(double lr) { return {{zeros({1}, requires_grad())}, SGDOptions(lr)}; }
/// Checks the learning rate before the first step and after each of twelve steps against a closed form.
void follows(Optimizer& optimizer, LRScheduler& schedule, const std::function<double(int)>& expected) {
  for (int step = 0; step <= 12; ++step) {
    INFO("step " << step);
    CHECK(optimizer.lr() == Approx(expected(step)).epsilon(1e-12));  // a few roundings in pow and cos
    CHECK(schedule.get_last_lr() == std::vector<double>{optimizer.lr()});
    schedule.step();
  }
}
/// A user-defined schedule, as a LibTorch program would write it.
class Quartering : public LRScheduler {
 public:
  Quartering(Optimizer& optimizer, size_t groups) : LRScheduler(optimizer), groups_(groups) {}
  std::vector<double> get_lrs() override {
    if (step_count_ == 0) return get_current_lrs();
    return std::vector<double>(groups_, get_current_lrs()[0] / 4);
  }

 private:
  size_t groups_;
};

}  // namespace

TEST_CASE("every schedule follows its closed form", "[optim][schedule]") {
  SGD optimizer = make_optimizer(0.1);
  SECTION("StepLR") {
    StepLR schedule(optimizer, 3, 0.5);
    follows(optimizer, schedule, [](int s) { return 0.1 / (1 << s / 3); });
  }
  SECTION("MultiStepLR") {
    MultiStepLR schedule(optimizer, {2, 5, 6}, 0.1);
    follows(optimizer, schedule, [](int s) { return s < 2 ? 0.1 : s < 5 ? 0.01 : s < 6 ? 0.001 : 0.0001; });
  }
  SECTION("ExponentialLR") {
    ExponentialLR schedule(optimizer, 0.9);
    follows(optimizer, schedule, [](int s) { return 0.1 * std::exp(s * std::log(0.9)); });
  }
  SECTION("LambdaLR") {
    LambdaLR schedule(optimizer, [](int64_t s) { return 1.0 / static_cast<double>(1 + s); });
    follows(optimizer, schedule, [](int s) { return 0.1 / (1 + s); });
  }
  SECTION("CosineAnnealingLR rises again after T_max") {
    CosineAnnealingLR schedule(optimizer, 4, 0.02);
    const double rates[] = {0.1, 0.06 + 0.04 * std::sqrt(0.5), 0.06, 0.06 - 0.04 * std::sqrt(0.5), 0.02};
    follows(optimizer, schedule, [&](int s) { return rates[s % 8 <= 4 ? s % 8 : 8 - s % 8]; });
  }
  SECTION("LinearLR") {
    LinearLR schedule(optimizer, 0.2, 1, 4);
    follows(optimizer, schedule, [](int s) { return s >= 4 ? 0.1 : 0.02 + 0.02 * s; });
  }
  SECTION("SequentialLR: a warm-up, then a decay whose steps count from there") {
    SequentialLR schedule(optimizer, {LinearLR(optimizer, 0.2, 1, 4), ExponentialLR(optimizer, 0.5)}, {4});
    follows(optimizer, schedule, [](int s) { return s < 4 ? 0.02 + 0.02 * s : 0.1 * std::pow(0.5, s - 4); });
  }
}

TEST_CASE("schedules are relative to the rate before the first of them", "[optim][schedule]") {
  SGD optimizer = make_optimizer(0.1);
  const LinearLR warm_up(optimizer, 0.5);
  CHECK(optimizer.lr() == Approx(0.05));
  const StepLR steps(optimizer, 10);
  CHECK(optimizer.lr() == Approx(0.1));
}

TEST_CASE("a rate that was changed by hand is where a schedule goes on", "[optim][schedule]") {
  SGD optimizer = make_optimizer(0.7);
  StepLR schedule(optimizer, 2, 0.5);
  std::vector<double> rates;
  const auto three_steps = [&] {
    for (int i = 0; i < 3; ++i) schedule.step(), rates.push_back(optimizer.lr());
  };
  three_steps();
  optimizer.set_lr(8);
  three_steps();
  // Expected: the rates of torch.optim.lr_scheduler.StepLR.
  CHECK(rates == std::vector<double>{0.7, 0.35, 0.35, 4, 4, 2});
  // Two schedules of one optimizer both change the rate, one after the other.
  SGD other = make_optimizer(1);
  ExponentialLR first(other, 0.5), second(other, 0.25);
  for (int i = 1; i <= 3; ++i) {
    first.step(), second.step();
    CHECK(other.lr() == Approx(std::pow(0.125, i)).epsilon(1e-14));
  }
}

TEST_CASE("milestones come in any order, and one that is given twice counts twice", "[optim][schedule]") {
  SGD optimizer = make_optimizer(1);
  MultiStepLR schedule(optimizer, {4, 2, -1, 2});  // -1 is never reached
  for (const double rate : {1.0, 1.0, 0.01, 0.01, 0.001, 0.001}) {
    CHECK(optimizer.lr() == Approx(rate));
    schedule.step();
  }
  SGD other = make_optimizer(1);
  const MultiStepLR at_once(other, {0});
  CHECK(other.lr() == Approx(0.1));
}

TEST_CASE("a schedule that cannot be is refused", "[optim][schedule]") {
  SGD optimizer = make_optimizer(0.1);
  REQUIRE_THROWS_WITH(StepLR(optimizer, 0), Contains("StepLR: step_size is 0"));
  REQUIRE_THROWS_WITH(CosineAnnealingLR(optimizer, -1), Contains("CosineAnnealingLR: T_max is -1"));
  REQUIRE_THROWS_WITH(LinearLR(optimizer, 0.1, 1, 0), Contains("LinearLR: total_iters is 0"));
  REQUIRE_THROWS_WITH(
      SequentialLR(optimizer, {StepLR(optimizer, 1), StepLR(optimizer, 1), StepLR(optimizer, 1)}, {5, 2}),
      Contains("SequentialLR: milestones must be positive and strictly increasing, got (5, 2)"));
  REQUIRE_THROWS_WITH(SequentialLR(optimizer, {StepLR(optimizer, 1)}, {3}),
                      Contains("but got number of schedulers 1 and the number of milestones to be equal to 1"));
}

TEST_CASE("the schedules of a cycle, a chain and a plateau say what they refuse", "[optim][schedule]") {
  SGD optimizer = make_optimizer(0.1), other = make_optimizer(0.1);
  const auto none = std::nullopt;
  REQUIRE_THROWS_WITH(CosineAnnealingWarmRestarts(optimizer, 0), Contains("Expected positive integer T_0, but got 0"));
  REQUIRE_THROWS_WITH(ConstantLR(optimizer, 1.5),
                      Contains("Constant multiplicative factor expected to be between 0 and 1. Got 1.5"));
  REQUIRE_THROWS_WITH(PolynomialLR(optimizer, 0), Contains("PolynomialLR: total_iters is 0"));
  REQUIRE_THROWS_WITH(ChainedScheduler({}),
                      Contains("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."));
  REQUIRE_THROWS_WITH(ChainedScheduler({StepLR(optimizer, 1), StepLR(other, 1)}),
                      Contains("expects all schedulers to belong to the same optimizer"));
  REQUIRE_THROWS_WITH(OneCycleLR(optimizer, 0.1),
                      Contains("You must define either total_steps OR (epochs AND steps_per_epoch)"));
  REQUIRE_THROWS_WITH(OneCycleLR(optimizer, 0.1, 0), Contains("Expected positive integer total_steps, but got 0"));
  REQUIRE_THROWS_WITH(OneCycleLR(optimizer, 0.1, 9, none, none, 2),
                      Contains("Expected float between 0 and 1 pct_start, but got 2"));
  REQUIRE_THROWS_WITH(OneCycleLR(optimizer, 0.1, 9, none, none, 0.3, "exp"),
                      Contains("anneal_strategy must be one of 'cos' or 'linear', instead got exp"));
  REQUIRE_THROWS_WITH(OneCycleLR(optimizer, {0.1, 0.2, 0.3}, 9),
                      Contains("max_lr must have the same length as optimizer.param_groups. max_lr has 3 values"));
  Adagrad without({zeros({1}, requires_grad())});
  REQUIRE_THROWS_WITH(OneCycleLR(without, 0.1, 9),
                      Contains("optimizer must support momentum or beta1 with `cycle_momentum` option enabled"));
  REQUIRE_THROWS_WITH(ReduceLROnPlateau(optimizer, ReduceLROnPlateau::min, 1), Contains("Factor should be < 1.0."));
  REQUIRE_THROWS_WITH(
      ReduceLROnPlateau(optimizer, ReduceLROnPlateau::min, 0.1, 1, 0.1, ReduceLROnPlateau::rel, 0, {1, 2}),
      Contains("expected 1 min_lrs, got 2"));
}

TEST_CASE("OneCycleLR cycles beta1 of an optimizer that has betas, and ends", "[optim][schedule]") {
  Adam optimizer({zeros({1}, requires_grad())});
  OneCycleLR schedule(optimizer, 1, 10);
  const auto& options = static_cast<AdamOptions&>(optimizer.param_groups()[0].options());
  CHECK(optimizer.lr() == Approx(1.0 / 25));
  CHECK(std::get<0>(options.betas()) == Approx(0.95));
  for (int step = 0; step < 2; ++step) schedule.step();
  CHECK(optimizer.lr() == Approx(1));
  CHECK(std::get<0>(options.betas()) == Approx(0.85));
  CHECK(std::get<1>(options.betas()) == 0.999);
  for (int step = 2; step < 10; ++step) schedule.step();
  REQUIRE_THROWS_WITH(schedule.step(), Contains("Tried to step 11 times. The specified number of total steps is 10"));
}

TEST_CASE("a chain may be part of a sequence, and a sequence of a chain", "[optim][schedule]") {
  SGD optimizer = make_optimizer(1);
  const std::vector<LRScheduler> halves = {LinearLR(optimizer, 0.5, 1, 2), ExponentialLR(optimizer, 0.5)};
  SequentialLR sequence(optimizer, {ConstantLR(optimizer, 0.1, 9), ChainedScheduler(halves)}, {2});
  for (const double rate : {0.1, 0.1, 0.5, 0.375, 0.25, 0.125}) {
    CHECK(optimizer.lr() == Approx(rate));
    sequence.step();
  }
  SGD second = make_optimizer(1);
  ChainedScheduler chain(
      {SequentialLR(second, {ConstantLR(second, 0.5, 9), ExponentialLR(second, 0.5)}, {2}), StepLR(second, 3, 0.1)});
  for (const double rate : {0.5, 0.5, 1.0, 0.05, 0.025}) {
    CHECK(second.lr() == Approx(rate));
    chain.step();
  }
}

TEST_CASE("a schedule of the program's own gives its rates by get_lrs()", "[optim][schedule]") {
  SGD optimizer = make_optimizer(1);
  Quartering schedule(optimizer, 1);
  for (const double rate : {1.0, 1.0, 0.25, 0.0625}) {
    CHECK(schedule.get_last_lr() == std::vector<double>{rate});
    schedule.step();
  }
  Quartering wrong(optimizer, 2);
  wrong.step();
  REQUIRE_THROWS_WITH(
      wrong.step(),
      Contains("Number of learning rates not equal to the number of param groups\nNumber of learning rates given: 2"));
  REQUIRE_THROWS_WITH(ChainedScheduler({schedule}), Contains("cannot be combined with others"));
}
