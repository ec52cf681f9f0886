// Tests the options of the Trainer and of its data sources: what is accepted, and the errors for the rest.
#include <atomic>
#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::quiet;

namespace {

void fit(const train::TrainerOptions& options, const train::DataSource& source) {
  train::Trainer(options).fit(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), test::sgd()),
                              source);
}
train::DataSource twelve(int64_t batch_size = 4) { return train::DataSource(test::classes(12)).batch_size(batch_size); }

}  // namespace

TEST_CASE("an invalid option is an error that names the option, the value, and what is accepted", "[train]") {
  const auto message = [](const train::TrainerOptions& options) -> std::string {
    try {
      fit(options, twelve());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(message(quiet("dpp")), Contains("strategy is 'dpp'") && Contains("dp_loss, ddp"));
  CHECK_THAT(message(quiet("single", 2)), Contains("devices has 2") && Contains("dp_loss"));
  CHECK_THAT(message(quiet().accelerator("tpu")), Contains("accelerator is 'tpu'") && Contains("auto, cpu, gpu"));
  CHECK_THAT(message(quiet().devices(0)), Contains("devices is 0"));
  CHECK_THAT(message(quiet("dp").devices({1, 1})), Contains("twice"));
  CHECK_THAT(message(quiet().precision("64")), Contains("precision is '64'") && Contains("bf16-mixed"));
  CHECK_THAT(message(quiet().max_epochs(-2)), Contains("max_epochs is -2") && Contains("without end"));
  CHECK_THAT(message(quiet().max_steps(-3)), Contains("max_steps is -3"));
  CHECK_THAT(message(quiet().accumulate_grad_batches(0)), Contains("accumulate_grad_batches is 0"));
  CHECK_THAT(message(quiet().gradient_clip_val(-1)), Contains("gradient_clip_val is -1"));
  CHECK_THAT(message(quiet().limit_train_batches(1.5)), Contains("limit_train_batches is 1.5") && Contains("fraction"));
  CHECK_THAT(message(quiet().limit_val_batches(-1)), Contains("limit_val_batches is -1"));
  CHECK_THAT(message(quiet().val_check_interval(0)), Contains("val_check_interval is 0") && Contains("1 or more"));
  CHECK_THAT(message(quiet().limit_train_batches(0.1)), Contains("limit_train_batches leaves none of 3"));
  CHECK_THAT(message(quiet().check_val_every_n_epoch(0)), Contains("check_val_every_n_epoch is 0"));
  CHECK_THAT(message(quiet().check_val_every_n_epoch(std::nullopt)),
             Contains("check_val_every_n_epoch is nullopt") && Contains("a number of batches"));
  CHECK_THAT(message(quiet().log_every_n_steps(0)), Contains("log_every_n_steps is 0"));
}

TEST_CASE("data sources and modules that do not fit are errors", "[train]") {
  CHECK_THROWS_WITH(fit(quiet("ddp_local", 3), twelve(2)), Contains("batch_size is 2") && Contains("3 ranks"));
  CHECK_THROWS_WITH(fit(quiet(), twelve(0)), Contains("batch_size is 0"));
  CHECK_THROWS_WITH(fit(quiet(), twelve(16).drop_last(true)), Contains("leaves no batch"));
  CHECK_THROWS_WITH(fit(quiet(), train::DataSource(data::datasets::TensorDataset(zeros({4, 5})))),
                    Contains("the data source makes batches of type") && Contains("Example"));
  CHECK_THROWS_WITH(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(Reduction::sum), test::sgd()),
                    Contains("reduction other than mean"));
  const auto two = [](std::vector<Tensor> parameters) {
    auto first = std::make_unique<optim::SGD>(parameters, 0.1);
    optim::SGD second(parameters, 0.1);
    return train::Optimizers(std::move(first)).schedule(std::make_shared<optim::StepLR>(second, 1));
  };
  CHECK_THROWS_WITH(train::Trainer(quiet()).fit(
                        train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), two), twelve()),
                    Contains("another optimizer"));
  struct NoLoss : train::TrainingModule<NoLoss> {
    NoLoss() { reset(); }
    void reset() override { layers = register_module("layers", test::plain_net()); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    train::Optimizers configure_optimizers() override { return test::sgd()(parameters()); }
    nn::Sequential layers{nullptr};
  } net;
  CHECK_THROWS_WITH(train::Trainer(quiet().max_epochs(1)).fit(net, twelve()), Contains("neither loss()"));
}

TEST_CASE("mixed precision trains, with weights and gradients in float32", "[train]") {
  const std::string precision = GENERATE("bf16-mixed", "16-mixed");
  const std::string strategy = GENERATE("single", "dp", "dp_loss", "ddp_local");
  INFO(precision << " with " << strategy);
  nn::Sequential net = test::plain_net();
  std::atomic<DType> seen{kFloat32};  // ranks that are threads share the hook
  net[0]->register_forward_hook([&](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
    if (outputs[0].device() == kCPU) seen = outputs[0].dtype();
  });
  std::vector<double> losses;
  const auto logger = [&](int64_t, const std::vector<std::pair<std::string, double>>& metrics) {
    if (metrics[0].first == "train_loss") losses.push_back(metrics[0].second);
  };
  train::Trainer trainer(quiet(strategy, strategy == "single" ? 1 : 2)
                             .max_epochs(10)
                             .precision(precision)
                             .gradient_clip_val(5)
                             .logger(train::Logger(logger)));
  trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), test::sgd()), twelve(12));
  CHECK(seen == (precision == "16-mixed" ? kFloat16 : kBFloat16));
  CHECK(net->parameters()[0].dtype() == kFloat32);
  CHECK(net->parameters()[0].grad().dtype() == kFloat32);
  REQUIRE(losses.size() == 10);
  CHECK(losses.back() < 0.8 * losses.front());
}

TEST_CASE("TensorBoard and JSON Lines receive the metrics, and CSV is refused", "[train]") {
  const test::TemporaryFolder folder;
  auto metrics = std::make_shared<logs::MetricsWriter>(folder / "run.jsonl");
  auto events = std::make_shared<logs::SummaryWriter>(folder / "events");
  fit(quiet().max_epochs(1).logger(metrics).logger(events).tensorboard(folder / "made_later"), twelve());
  CHECK(std::filesystem::directory_iterator(folder / "made_later") != std::filesystem::directory_iterator());
  const std::string lines = test::read_file(folder / "run.jsonl");
  CHECK_THAT(lines, Contains("\"step\": 1") || Contains("\"step\":1"));
  CHECK_THAT(lines, Contains("train_loss_epoch"));
  CHECK_THROWS_WITH(quiet().logger(std::make_shared<logs::MetricsWriter>(folder / "run.csv")), Contains(".jsonl"));
}
