// Tests that all strategies of the Trainer compute the same training.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::classes;
using test::copy_state;
using test::quiet;
using State = std::vector<Tensor>;

namespace {

struct Run {
  State state;
  std::map<std::string, double> metrics;
  std::vector<double> losses;  // of each step
};

/// Records the loss of each step.
struct LossRecorder : train::Callback {
  explicit LossRecorder(std::vector<double>* to) : to(to) {}
  void on_train_batch_end(train::Fit& fit, int64_t) override {
    if (fit.rank() == 0 && fit.metrics().contains("train_loss")) to->push_back(fit.metrics().at("train_loss"));
  }
  std::vector<double>* to;
};

Run run(nn::Sequential net, const train::DataSource& source, train::TrainerOptions options,
        const nn::CrossEntropyLoss& loss = nn::CrossEntropyLoss()) {
  Run out;
  train::Trainer trainer(options.max_epochs(2).callback(LossRecorder(&out.losses)));
  trainer.fit(train::make_training_module(net, loss, test::sgd()), source, source);
  out.state = copy_state(*net);
  out.metrics = trainer.metrics();
  return out;
}
std::vector<std::string> ddp_strategies() {
  std::vector<std::string> all = {"ddp_local"};
  if (TANDEM_HAS_GLOO) all.push_back("ddp_gloo");
  return all;
}

}  // namespace

TEST_CASE("two options choose the strategy, and equal batches give equal bits with all of them", "[train]") {
  const auto dataset = classes(48);
  const auto source = train::DataSource(dataset).batch_size(16).shuffle(true);
  // On one device two batches of 8 make a step. They are the shards of a batch of 16 on two devices.
  const auto halves = train::DataSource(dataset).batch_size(8).shuffle(true);
  const Run single = run(test::plain_net(), halves, quiet("single", 1).accumulate_grad_batches(2));
  CHECK(single.losses.back() < single.losses.front());
  std::vector<std::string> strategies = ddp_strategies();
  strategies.insert(strategies.begin(), {"dp", "dp_loss"});
  for (const std::string& strategy : strategies) {
    INFO(strategy);
    const Run other = run(test::plain_net(), source, quiet(strategy, 2));
    CHECK(test::is_same_state(other.state, single.state));
    // 1e-6: DataParallel adds the losses of its shards in float32, the Trainer those of batches in float64.
    CHECK(other.metrics.at("train_loss_epoch") == Approx(single.metrics.at("train_loss_epoch")).epsilon(1e-6));
    CHECK(other.metrics.at("val_loss") == Approx(single.metrics.at("val_loss")).epsilon(1e-6));
  }
}

TEST_CASE("ddp over gloo gives the bits of ddp over local threads, with dropout and batch norm", "[train]") {
  if (test::without_gloo()) return;
  const auto draws = data::transforms::Lambda<data::Example<>>([](data::Example<> example) {
    example.data = example.data + 0.1 * randn({5});
    return example;
  });
  const auto source = train::DataSource(classes(47).map(draws)).batch_size(12).shuffle(true).workers(1);
  const Run local = run(test::noisy_net(), source, quiet("ddp_local", 3).accumulate_grad_batches(2));
  const Run gloo = run(test::noisy_net(), source, quiet("ddp_gloo", 3).accumulate_grad_batches(2));
  CHECK(test::is_same_state(gloo.state, local.state));
  CHECK(gloo.losses == local.losses);
  CHECK(gloo.metrics == local.metrics);
}

// 1e-12: float64, the terms of a step's mean in another order.
TEST_CASE("uneven shards, and a last batch with rows for some ranks only, give the gradient of the true mean",
          "[train]") {
  const int64_t rows =
      GENERATE(45, 33, 34, 49);  // last batches of 13, 1, 2 and 1 rows; the last one ends a step of two batches
  const bool with_weights = GENERATE(false, true);
  const int64_t accumulate = GENERATE(1, 2);
  const auto dataset = classes(rows, kFloat64, with_weights);
  const nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().weight(
      with_weights ? tensor(std::vector<double>{0.5, 1.5, 1.0}, kFloat64) : Tensor()));
  const auto source = train::DataSource(dataset).batch_size(16).shuffle(true);
  const auto whole = train::DataSource(dataset).batch_size(16 * accumulate).shuffle(true);
  const Run expected = run(test::plain_net(kFloat64), whole, quiet(), loss);
  std::vector<std::string> strategies = ddp_strategies();
  strategies.insert(strategies.begin(), {"dp", "dp_loss"});
  for (const std::string& strategy : strategies) {
    INFO(strategy << " with " << rows << " rows, " << accumulate << " batches in a step");
    const Run other =
        run(test::plain_net(kFloat64), source, quiet(strategy, 3).accumulate_grad_batches(accumulate), loss);
    CHECK(test::state_difference(other.state, expected.state) < 1e-12);
    CHECK(other.metrics.at("train_loss_epoch") == Approx(expected.metrics.at("train_loss_epoch")).epsilon(1e-12));
    CHECK(other.metrics.at("val_loss") == Approx(expected.metrics.at("val_loss")).epsilon(1e-12));
  }
}

TEST_CASE("ddp of a module with unused parameters asks for its own strategy, and one rank is a job too", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override {
      layers = register_module("layers", test::plain_net());
      unused = register_module("unused", nn::Linear(2, 2));
    }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor loss(const Tensor& output, const data::Example<>& batch) override {
      return cross_entropy(output, batch.target);
    }
    train::Optimizers configure_optimizers() override { return test::sgd()(parameters()); }
    nn::Sequential layers{nullptr};
    nn::Linear unused{nullptr};
  };
  const auto source = train::DataSource(classes(48)).batch_size(16).shuffle(true);
  const auto fit = [&](const std::string& strategy, int devices) {
    Net net;
    train::Trainer(quiet(strategy, devices).max_epochs(1)).fit(net, source);
    return copy_state(net);
  };
  CHECK_THROWS_WITH(fit("ddp", 2), Contains("unused.weight"));
  const State expected = fit("single", 1);
  CHECK(test::is_same_state(fit("ddp_find_unused_parameters_true", 1), expected));
  // 1e-6: float32, two sums of halves in place of one.
  CHECK(test::state_difference(fit("ddp_find_unused_parameters_true", 2), expected) < 1e-6);
}

TEST_CASE("one rank may stop the training, and all ranks stop after the same step", "[train]") {
  struct Stopper : train::Callback {
    void on_train_batch_end(train::Fit& fit, int64_t batch) override {
      if (fit.rank() == fit.world_size() - 1 && batch == 2) fit.stop();
    }
  };
  const auto steps = [](train::TrainerOptions options) {
    train::Trainer trainer(options.max_epochs(3).callback(Stopper()));
    trainer.fit(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), test::sgd()),
                train::DataSource(classes(60)).batch_size(6));
    return trainer.global_step();
  };
  CHECK(steps(quiet()) == 3);
  // The ranks agree when they report: after every fourth step, or after the epoch's ten steps.
  CHECK(steps(quiet("ddp_local", 3).log_every_n_steps(4)) == 4);
  CHECK(steps(quiet("ddp_local", 3).log_every_n_steps(100)) == 10);
}

TEST_CASE("dp refuses a class whose training_step computes output and loss at once", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override { layers = register_module("layers", test::plain_net()); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor training_step(const data::Example<>& batch) override {
      const Tensor output = forward(batch);
      log("largest", output.max());
      return cross_entropy(output, batch.target);
    }
    train::Optimizers configure_optimizers() override { return test::sgd()(parameters()); }
    nn::Sequential layers{nullptr};
  };
  Net net;
  const auto source = train::DataSource(classes(12)).batch_size(6);
  CHECK_THROWS_WITH(train::Trainer(quiet("dp", 2).max_epochs(1)).fit(net, source),
                    Contains("strategy is dp") && Contains("dp_loss"));
  train::Trainer trainer(quiet("dp_loss", 2).max_epochs(1));
  trainer.fit(net, source);  // values that replicas log count too
  CHECK(trainer.metrics().contains("largest_epoch"));
}

TEST_CASE("an exception of a callback on one rank ends all ranks, and names the rank and the callback", "[train]") {
  struct Thrower : train::Callback {
    void on_train_batch_end(train::Fit& fit, int64_t batch) override {
      if (fit.rank() == 1 && batch == 2) TANDEM_FAIL("no more");
    }
  };
  struct Witness : train::Callback {
    explicit Witness(std::array<std::string, 3>* to) : to(to) {}
    void on_exception(train::Fit& fit, const std::string& message) override {
      (*to)[static_cast<size_t>(fit.rank())] = message;
    }
    std::array<std::string, 3>* to;
  };
  for (const std::string& strategy : ddp_strategies()) {
    INFO(strategy);
    std::array<std::string, 3> seen;
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH(run(test::plain_net(), train::DataSource(classes(48)).batch_size(6),
                          quiet(strategy, 3).callback(Thrower()).callback(Witness(&seen))),
                      Contains("rank 1") && Contains("Thrower::on_train_batch_end") && Contains("no more"));
    for (const std::string& message : seen) CHECK_THAT(message, Contains("no more"));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  }
}
