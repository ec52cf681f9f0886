// Tests that a fit() that continues from a checkpoint ends as one without interruption, bit for bit.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/train/nets.h"
#include "tandem/train/callbacks/early_stopping.h"
#include "tandem/train/callbacks/model_checkpoint.h"
#include "tandem/train/callbacks/weight_averaging.h"

using namespace tandem;
using test::quiet;
using State = std::vector<Tensor>;

namespace {

struct End {
  State state;
  std::map<std::string, double> metrics;
  int64_t steps;
};

/// Trains a network with dropout, batch norm, drawn examples, a schedule, and callbacks with state.
/// @param stop_after  step after which the training is cut short; -1: it is complete
End train_noisy(const std::string& folder, const std::string& strategy, int devices, int64_t workers,
                int64_t accumulate, const std::string& precision, int64_t stop_after) {
  const auto draws = data::transforms::Lambda<data::Example<>>([](data::Example<> example) {
    example.data = example.data + 0.1 * randn({5});
    return example;
  });
  const auto training = train::DataSource(test::classes(22).map(draws)).batch_size(6).shuffle(true).workers(workers);
  const auto validation = train::DataSource(test::classes(7).map(draws)).batch_size(4);
  const auto make = [](std::vector<Tensor> parameters) {
    train::Optimizers out = std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.02));
    auto& optimizer = *out.optimizer();
    out.schedule(std::make_shared<optim::StepLR>(optimizer, 3, 0.7), "step");
    out.schedule(std::make_shared<optim::ReduceLROnPlateau>(optimizer), "val_loss");
    return out;
  };
  auto checkpoints = train::ModelCheckpointOptions().every_n_train_steps(1).monitor("val_loss").save_top_k(2);
  auto options = quiet(strategy, devices)
                     .max_epochs(2)
                     .max_steps(stop_after)
                     .accumulate_grad_batches(accumulate)
                     .precision(precision)
                     .val_check_interval(0.5)
                     .default_root_dir(folder)
                     .ckpt_path("last")
                     .callback(train::ModelCheckpoint(checkpoints))
                     .callback(train::EMA(0.8))
                     .callback(train::EarlyStopping(train::EarlyStoppingOptions().patience(50)));
  nn::Sequential net = test::noisy_net();
  train::Trainer trainer(options);
  trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), make), training, validation);
  return {test::copy_state(*net), trainer.metrics(), trainer.global_step()};
}

void check_resume_at_every_step(const std::string& strategy, int devices, int64_t workers, int64_t accumulate,
                                const std::string& precision = "32") {
  INFO(strategy << ", " << workers << " workers, " << accumulate << " batches in a step, precision " << precision);
  const auto whole = test::TemporaryFolder::in_memory();
  const End expected = train_noisy(whole.path(), strategy, devices, workers, accumulate, precision, -1);
  REQUIRE(expected.steps == (accumulate == 1 ? 8 : 4));
  for (int64_t cut = 1; cut < expected.steps; ++cut) {
    INFO("continued after step " << cut);
    const auto folder = test::TemporaryFolder::in_memory();
    REQUIRE(train_noisy(folder.path(), strategy, devices, workers, accumulate, precision, cut).steps == cut);
    const End end = train_noisy(folder.path(), strategy, devices, workers, accumulate, precision, -1);
    CHECK(end.steps == expected.steps);
    CHECK(test::is_same_state(end.state, expected.state));
    CHECK(end.metrics == expected.metrics);
  }
}

}  // namespace

TEST_CASE("a fit that continues at any step of an epoch ends as one without interruption, bit for bit", "[train]") {
  check_resume_at_every_step("single", 1, 0, 1);
  check_resume_at_every_step("single", 1, 2, 1);
  check_resume_at_every_step("single", 1, 0, 3);
  check_resume_at_every_step("single", 1, 0, 1, "16-mixed");
  check_resume_at_every_step("dp_loss", 2, 0, 1);
  check_resume_at_every_step("ddp_local", 2, 2, 1);
}

// 1e-12: float64, sums in another order.
TEST_CASE("a fit can continue with another strategy and number of ranks, with the same batches", "[train]") {
  const auto fit = [](const std::string& folder, const std::string& strategy, int devices, int64_t steps) {
    nn::Sequential net = test::plain_net(kFloat64);
    train::Trainer trainer(
        quiet(strategy, devices)
            .max_epochs(2)
            .max_steps(steps)
            .default_root_dir(folder)
            .ckpt_path("last")
            .callback(train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(1))));
    trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd()),
                train::DataSource(test::classes(26, kFloat64)).batch_size(6).shuffle(true));
    return std::pair(test::copy_state(*net),
                     trainer.metrics().count("train_loss_epoch") ? trainer.metrics().at("train_loss_epoch") : 0);
  };
  const test::TemporaryFolder whole, parts;
  const auto [expected, expected_loss] = fit(whole.path(), "single", 1, -1);
  fit(parts.path(), "ddp_local", 2, 3);  // five steps in an epoch
  fit(parts.path(), "ddp_local", 3, 6);
  fit(parts.path(), "dp", 2, 8);
  const auto [state, loss] = fit(parts.path(), "single", 1, -1);
  CHECK(test::state_difference(state, expected) < 1e-12);
  // The first step of the second epoch ran on three ranks, and only rank 0's part of its mean is left.
  CHECK(loss == Approx(expected_loss).epsilon(0.2));
}

TEST_CASE("a checkpoint can be named, and what cannot be continued is an error that says what is accepted", "[train]") {
  const test::TemporaryFolder folder;
  const auto fit = [&](const std::string& path, int64_t steps) {
    auto options = quiet().max_steps(steps).default_root_dir(folder.path()).ckpt_path(path);
    options.callback(train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(2).save_top_k(-1)));
    nn::Sequential net = test::plain_net();
    train::Trainer trainer(options);
    trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd()),
                train::DataSource(test::classes(20)).batch_size(2).shuffle(true));
    return test::copy_state(*net);
  };
  const State after_8 = fit("", 8);
  const std::string checkpoints = folder / "checkpoints";
  CHECK(test::is_same_state(fit(checkpoints, 8), after_8));                 // the latest: nothing is left to do
  CHECK(test::is_same_state(fit(checkpoints + "/step_8.pt", 8), after_8));  // the same, by its name
  CHECK_FALSE(test::is_same_state(fit(checkpoints + "/step_4.pt", 5), after_8));
  CHECK_THROWS_WITH(fit(folder / "none", 8), Contains("none") && Contains("does not exist"));
  CHECK_THROWS_WITH(fit(folder.path(), 8), Contains("without checkpoints"));
}
