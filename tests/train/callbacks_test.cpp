// Tests the callbacks of the Trainer: checkpoints, early stopping, averages of weights, and rates.
#include <filesystem>

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

/// Logs the next of these numbers as "score" in each validation: the metric follows a list.
struct Scripted : train::TrainingModule<Scripted> {
  explicit Scripted(std::vector<double> scores) : scores(std::move(scores)) { reset(); }
  void reset() override { layers = register_module("layers", test::plain_net()); }
  Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    return cross_entropy(output, batch.target);
  }
  void validation_step(const data::Example<>&) override { log("score", scores.at(next++)); }
  train::Optimizers configure_optimizers() override { return test::sgd()(parameters()); }
  std::vector<double> scores;
  size_t next = 0;
  nn::Sequential layers{nullptr};
};
train::DataSource eight() { return train::DataSource(test::classes(8)).batch_size(8); }  // one batch

}  // namespace

TEST_CASE("a fresh training refuses a folder with later checkpoints before its first step, and can continue",
          "[train]") {
  const test::TemporaryFolder folder;
  const auto fit = [&](const std::string& ckpt_path, int64_t epochs) {
    auto module = train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), test::sgd());
    train::Trainer trainer(quiet()
                               .max_epochs(epochs)
                               .default_root_dir(folder.path())
                               .ckpt_path(ckpt_path)
                               .callback(train::ModelCheckpoint()));
    trainer.fit(module, eight());
    return trainer.global_step();
  };
  CHECK(fit("", 2) == 2);
  CHECK_THROWS_WITH(fit("", 3), Contains("training begins anew") && Contains("checkpoint of step") &&
                                    Contains("ckpt_path(\"last\")"));
  CHECK(fit("last", 3) == 3);
}

TEST_CASE("training ends when the metric has not improved for `patience` validations, on all ranks alike", "[train]") {
  const std::string strategy = GENERATE("single", "ddp_local");
  const auto stopped_after = [&](const std::vector<double>& scores, train::EarlyStoppingOptions options) {
    const auto early = std::make_shared<train::EarlyStopping>(options.monitor("score"));
    Scripted net(scores);
    train::Trainer trainer(
        quiet(strategy, strategy == "single" ? 1 : 2).max_epochs(static_cast<int64_t>(scores.size())).callback(early));
    trainer.fit(net, eight(), eight());
    CHECK(early->stopped_epoch().has_value() == (trainer.current_epoch() < static_cast<int64_t>(scores.size())));
    return trainer.current_epoch();
  };
  using Options = train::EarlyStoppingOptions;
  CHECK(stopped_after({5, 4, 4, 4, 3, 3}, Options().patience(2)) == 4);
  CHECK(stopped_after({5, 4, 4, 3, 3, 2}, Options().patience(2)) == 6);
  CHECK(stopped_after({1, 2, 3, 3, 3, 4}, Options().patience(2).mode("max")) == 5);
  CHECK(stopped_after({5, 4.5, 4.1, 4, 3}, Options().patience(2).min_delta(1)) == 3);
  CHECK(stopped_after({5, NAN, 1, 1}, Options()) == 2);
}

TEST_CASE("the best checkpoints by a metric and the latest are kept, and no other", "[train]") {
  const std::string strategy = GENERATE("single", "ddp_local");
  const test::TemporaryFolder folder;
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
      if (entry.path().extension() == ".pt") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto checkpoint = std::make_shared<train::ModelCheckpoint>(
      train::ModelCheckpointOptions().monitor("score").mode("max").save_top_k(2));
  Scripted net({1, 5, 2, NAN, 4, 3});
  const auto options = quiet(strategy, strategy == "single" ? 1 : 2).max_epochs(6).default_root_dir(folder.path());
  train::Trainer trainer(train::TrainerOptions(options).callback(checkpoint));
  trainer.fit(net, eight(), eight());
  CHECK(files() == std::vector<std::string>{"step_2.pt", "step_5.pt", "step_6.pt"});
  CHECK_THAT(checkpoint->best_model_path(), Contains("checkpoints/step_2.pt"));
  CHECK_THAT(checkpoint->last_model_path(), Contains("checkpoints/step_6.pt"));
  CHECK(checkpoint->best_model_score() == 5);
  // PyTorch's names: the file holds the module's state dict.
  serialize::InputArchive archive, shared, model;
  archive.load_from(checkpoint->last_model_path());
  archive.read("shared", shared);
  shared.read("model", model);
  CHECK(model.keys()[0] == "layers.0.weight");
}

TEST_CASE("an average of weights follows its formula, and validation and the end of training use it", "[train]") {
  std::vector<Tensor> weights;  // of the first layer, after each step
  std::vector<Tensor> in_validation;
  struct Recorder : train::Callback {
    Recorder(std::vector<Tensor>* weights, std::vector<Tensor>* in_validation)
        : weights(weights), in_validation(in_validation) {}
    static Tensor first(train::Fit& fit) { return fit.module().parameters()[0].detach().to(kFloat64); }
    void on_train_start(train::Fit& fit) override { weights->push_back(first(fit).clone()); }
    void on_train_batch_end(train::Fit& fit, int64_t) override { weights->push_back(first(fit).clone()); }
    void on_validation_start(train::Fit& fit) override { in_validation->push_back(first(fit).clone()); }
    std::vector<Tensor>*weights, *in_validation;
  };
  nn::Sequential net = test::plain_net(kFloat64);
  const auto source = train::DataSource(test::classes(12, kFloat64)).batch_size(4);
  const auto module = train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd());
  SECTION("exponential, after each step") {
    train::Trainer trainer(
        quiet().max_epochs(2).callback(train::EMA(0.7)).callback(Recorder(&weights, &in_validation)));
    trainer.fit(module, source, source);
    Tensor expected = weights[0];
    for (size_t i = 1; i < weights.size(); ++i) {
      expected = 0.7 * expected + 0.3 * weights[i];
      if (i == 3) CHECK((in_validation[0] - expected).abs().max().item<double>() < 1e-14);  // 1e-14: float64 roundings
    }
    CHECK(weights.size() == 7);
    CHECK((net->parameters()[0] - expected).abs().max().item<double>() < 1e-14);
  }
  SECTION("over the ends of epochs, with a rate of its own") {
    std::vector<double> rates;
    const auto logger = [&](int64_t, const std::vector<std::pair<std::string, double>>& metrics) {
      for (const auto& [name, value] : metrics)
        if (name == "lr") rates.push_back(value);
    };
    train::Trainer trainer(
        quiet()
            .max_epochs(4)
            .callback(train::StochasticWeightAveraging(
                train::StochasticWeightAveragingOptions(0.02).swa_epoch_start(1).annealing_epochs(2)))
            .callback(train::LearningRateMonitor())
            .callback(Recorder(&weights, &in_validation))
            .logger(train::Logger(logger)));
    trainer.fit(module, source);
    const Tensor expected = (weights[6] + weights[9] + weights[12]) / 3;  // three steps in an epoch
    CHECK((net->parameters()[0] - expected).abs().max().item<double>() < 1e-14);
    REQUIRE(rates.size() == 12);
    CHECK(rates[0] == 0.1);
    CHECK(rates[3] == Approx(0.1));   // epoch 1 begins to anneal
    CHECK(rates[6] == Approx(0.06));  // half a cosine, at its middle
    CHECK(rates[9] == Approx(0.02));
  }
}

TEST_CASE("averaging over epochs refreshes the statistics of batch norms by one more pass", "[train]") {
  const auto dataset = test::classes(12);
  nn::Sequential net(nn::BatchNorm1d(5), nn::Linear(5, 3));
  train::Trainer trainer(
      quiet().max_epochs(2).callback(train::StochasticWeightAveraging(train::StochasticWeightAveragingOptions(0.1))));
  trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd()),
              train::DataSource(dataset).batch_size(4));
  const auto* const norm = net[0]->as<nn::BatchNorm1d>();
  // The mean over three batches of equal size is the mean over all examples. 1e-6: float32.
  CHECK((norm->running_mean - dataset.data.mean(0)).abs().max().item<float>() < 1e-6);
  CHECK(norm->options.momentum() == 0.1);
}

TEST_CASE("with ddp, the refreshed statistics are the mean over all ranks' parts of the batches", "[train]") {
  const auto dataset = test::classes(24);
  const auto statistics_of = [&](const train::TrainerOptions& options, int64_t batch_size) {
    nn::Sequential net(nn::BatchNorm1d(5), nn::Linear(5, 3));
    train::Trainer trainer(train::TrainerOptions(options).max_epochs(1).callback(
        train::StochasticWeightAveraging(train::StochasticWeightAveragingOptions(0.1))));
    trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd()),
                train::DataSource(dataset).batch_size(batch_size));
    const auto* const norm = net[0]->as<nn::BatchNorm1d>();
    return std::pair(norm->running_mean.clone(), norm->running_var.clone());
  };
  // The parts of two ranks are the batches of one device.
  const auto [mean, var] = statistics_of(quiet(), 4);
  const auto [mean_of_ranks, var_of_ranks] = statistics_of(quiet("ddp_local", 2), 8);
  // 1e-6: means of six float32 numbers, added up in another order.
  CHECK((mean_of_ranks - mean).abs().max().item<float>() < 1e-6);
  CHECK((var_of_ranks - var).abs().max().item<float>() < 1e-6);
  CHECK((mean - dataset.data.narrow(0, 0, 12).mean(0)).abs().max().item<float>() > 1e-3);  // not of one half
}

TEST_CASE("callbacks refuse invalid options and unknown metrics, and say what is accepted", "[train]") {
  CHECK_THROWS_WITH(train::EarlyStopping(train::EarlyStoppingOptions().mode("best")),
                    Contains("'best'") && Contains("min, max"));
  CHECK_THROWS_WITH(train::ModelCheckpoint(train::ModelCheckpointOptions().save_top_k(-2)), Contains("-2"));
  CHECK_THROWS_WITH(train::EMA(1.5), Contains("1.5") && Contains("0 to 1"));
  CHECK_THROWS_WITH(train::StochasticWeightAveraging(0.0), Contains("swa_lrs"));
  Scripted net({1});
  train::Trainer trainer(quiet().max_epochs(1).callback(train::EarlyStopping()));
  CHECK_THROWS_WITH(trainer.fit(net, eight(), eight()),
                    Contains("EarlyStopping::on_validation_end") && Contains("'val_loss'") && Contains("score"));
}
