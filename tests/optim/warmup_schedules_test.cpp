// Tests of the schedules with a warm-up, against the rates of Hugging Face's transformers.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

using Make = std::function<std::unique_ptr<optim::LambdaLR>(optim::Optimizer&)>;
std::vector<double> rates(const Make& make, size_t count) {
  optim::SGD optimizer({zeros({1}).requires_grad_()}, 0.8);
  const auto schedule = make(optimizer);
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(optimizer.param_groups()[0].options().get_lr());
    schedule->step();
  }
  return out;
}
void check_rates(const Make& make, const std::vector<double>& expected) {
  const std::vector<double> got = rates(make, expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-15));
}

}  // namespace

// The lists were printed by transformers' get_linear_schedule_with_warmup and get_cosine_schedule_with_warmup, for a
// rate of 0.8.
TEST_CASE("schedules with a warm-up give the rates of transformers", "[optim]") {
  check_rates([](optim::Optimizer& o) { return optim::get_linear_schedule_with_warmup(o, 3, 10); },
              {0.0, 0.26666666666666666, 0.5333333333333333, 0.8, 0.6857142857142857, 0.5714285714285715,
               0.45714285714285713, 0.34285714285714286, 0.22857142857142856, 0.11428571428571428, 0.0, 0.0});
  check_rates([](optim::Optimizer& o) { return optim::get_linear_schedule_with_warmup(o, 4, 4); },
              {0.0, 0.2, 0.4, 0.6000000000000001, 0.0, 0.0});
  check_rates([](optim::Optimizer& o) { return optim::get_cosine_schedule_with_warmup(o, 3, 10); },
              {0.0, 0.26666666666666666, 0.5333333333333333, 0.8, 0.7603875471609677, 0.6493959207434935,
               0.48900837358252575, 0.3109916264174743, 0.15060407925650662, 0.03961245283903239, 0.0});
  check_rates([](optim::Optimizer& o) { return optim::get_cosine_schedule_with_warmup(o, 0, 4); },
              {0.8, 0.682842712474619, 0.4, 0.11715728752538102, 0.0, 0.11715728752538093});
  check_rates([](optim::Optimizer& o) { return optim::get_cosine_schedule_with_warmup(o, 2, 8, 1.5); },
              {0.0, 0.4, 0.8, 0.4, 0.0, 0.3999999999999999, 0.8, 0.40000000000000013, 0.0, 0.39999999999999986});
  optim::SGD optimizer({zeros({1}).requires_grad_()}, 0.8);
  CHECK_THROWS_WITH(optim::get_linear_schedule_with_warmup(optimizer, 5, 4),
                    Contains("num_warmup_steps is 5") && Contains("num_training_steps is 4"));
  CHECK_THROWS_WITH(optim::get_cosine_schedule_with_warmup(optimizer, -1, 4), Contains("num_warmup_steps is -1"));
}
