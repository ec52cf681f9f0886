// Tests what a program needs that had a loop of its own and now trains with the Trainer: the loop's bits, its order of
// examples, its devices, and captured steps.
#include "tandem/tests/catch.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::classes;
using test::quiet;

namespace {

Tensor mean_loss(const Tensor& output, const Tensor& target) { return cross_entropy(output, target); }
/// A loss with a term that is no mean, whose gradient is not divided by the number of rows.
Tensor loss_with_penalty(const Tensor& output, const Tensor& target) {
  return mean_loss(output, target) + 0.01 * output.square().sum();
}

std::vector<Tensor> fit(const train::DataSource& source, const train::TrainerOptions& options,
                        Tensor (*loss)(const Tensor&, const Tensor&) = mean_loss) {
  nn::Sequential net = test::noisy_net();
  train::Trainer(options).fit(train::make_training_module(net, loss, test::sgd()), source);
  return test::copy_state(*net);
}

/// Records the examples of each batch, as their targets, on each rank.
struct TargetRecorder : train::TrainingModule<TargetRecorder> {
  explicit TargetRecorder(std::vector<std::vector<int64_t>>* seen) : seen(seen) { reset(); }
  void reset() override { layer = register_module("layer", nn::Linear(1, 1)); }
  Tensor forward(const data::Example<>& batch) override { return layer(batch.data); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    std::vector<int64_t>& mine =
        seen->at(distributed::is_initialized() ? static_cast<size_t>(distributed::get_rank()) : 0);
    for (int64_t i = 0; i < batch.target.size(0); ++i) mine.push_back(batch.target[i].item<int64_t>());
    return output.mean();
  }
  train::Optimizers configure_optimizers() override { return test::sgd()(parameters()); }
  nn::Linear layer{nullptr};
  std::vector<std::vector<int64_t>>* seen;
};
data::datasets::TensorPairDataset numbered(int64_t rows) { return {ones({rows, 1}), arange(rows)}; }

}  // namespace

TEST_CASE("on one device the Trainer gives the bits of a plain loop, for any size of batches", "[train]") {
  // 41 is the least number n with n * (1 / n) != 1 in float32; 13 rows are left.
  const auto dataset = classes(95);
  const std::vector<Tensor> with_trainer =
      fit(train::DataSource(dataset).batch_size(41), quiet().max_epochs(3), loss_with_penalty);
  nn::Sequential net = test::noisy_net();
  manual_seed(7);
  const auto optimizer = test::sgd()(net->parameters());
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int64_t begin = 0; begin < 95; begin += 41) {
      const int64_t rows = std::min<int64_t>(41, 95 - begin);
      optimizer->zero_grad();
      const Tensor output = net(dataset.data.narrow(0, begin, rows));
      loss_with_penalty(output, dataset.target.narrow(0, begin, rows)).backward();
      optimizer->step();
    }
  CHECK(test::is_same_state(test::copy_state(*net), with_trainer));
}

TEST_CASE("a sampler determines the order of examples, and each rank uses its part of each batch", "[train]") {
  std::vector<std::vector<int64_t>> seen(2);
  const auto net = std::make_shared<TargetRecorder>(&seen);
  const auto run = [&](const train::DataSource& source, const train::TrainerOptions& options) {
    seen.assign(2, {});
    train::Trainer(options).fit(net, source);
  };
  manual_seed(3);
  std::vector<int64_t> expected;
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(numbered(10).map(data::transforms::Stack<>()),
                                                                      data::DataLoaderOptions(4));
  for (int epoch = 0; epoch < 2; ++epoch)
    for (auto& batch : *loader)
      for (int64_t i = 0; i < batch.target.size(0); ++i) expected.push_back(batch.target[i].item<int64_t>());
  manual_seed(3);
  train::TrainerOptions one = quiet().max_epochs(2);
  one.seed(std::nullopt);
  run(train::DataSource(numbered(10)).batch_size(4).sampler([] { return data::samplers::RandomSampler(10); }), one);
  CHECK(seen[0] == expected);

  const data::samplers::ShardSampler order(9, 1, 0, {.shuffle = true, .seed = 5});
  run(train::DataSource(numbered(10)).batch_size(4).sampler([order] { return order; }),
      quiet("ddp_local", 2).max_epochs(1));
  const std::vector<size_t>& all = order.indices();
  std::vector<std::vector<int64_t>> parts(2);
  for (size_t i = 0; i < all.size(); ++i) parts[i == 8 ? 0 : i % 4 / 2].push_back(static_cast<int64_t>(all[i]));
  CHECK(seen == parts);

  const auto source =
      train::DataSource(numbered(10)).batch_size(4).sampler([] { return data::samplers::RandomSampler(10); });
  CHECK_THROWS_WITH(run(source, quiet("ddp_local", 2)), Contains("no set_epoch()") && Contains("ShardSampler"));
  CHECK_THROWS_WITH(run(train::DataSource(source).shuffle(true), quiet()), Contains("shuffle is true"));
}

TEST_CASE("a captured step gives the bits of a step, also beside batches of another size", "[train]") {
  const auto source = train::DataSource(classes(30)).batch_size(8).shuffle(true);
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<Tensor>> states;
  struct Losses : train::Callback {
    explicit Losses(std::vector<double>* to) : to(to) {}
    void on_train_batch_end(train::Fit& fit, int64_t) override { to->push_back(fit.loss().item<double>()); }
    std::vector<double>* to;
  };
  for (const bool capture : {false, true})
    states.push_back(fit(source, quiet().max_epochs(3).capture(capture).callback(Losses(&losses.emplace_back()))));
  CHECK(test::is_same_state(states[0], states[1]));
  CHECK(losses[0] == losses[1]);
  CHECK(losses[0].size() == 12);
  for (const auto& options : {quiet("dp", 2), quiet().accumulate_grad_batches(2), quiet().gradient_clip_val(1)})
    CHECK_THROWS_WITH(fit(source, train::TrainerOptions(options).capture(true)), Contains("capture is true"));
}

TEST_CASE("ranks that are threads use the devices whose numbers are given, and else share one", "[train]") {
  const auto devices_of = [](train::DeviceList numbers) {
    std::vector<Device> devices(2), parameters(2);
    struct Lister : train::Callback {  // checks nothing itself, because Catch2's macros are for one thread
      Lister(std::vector<Device>* devices, std::vector<Device>* parameters)
          : devices(devices), parameters(parameters) {}
      void on_train_start(train::Fit& fit) override {
        const auto rank = static_cast<size_t>(fit.rank());
        devices->at(rank) = fit.devices().at(0);
        parameters->at(rank) = fit.module().parameters()[0].device();
      }
      std::vector<Device>*devices, *parameters;
    };
    fit(train::DataSource(classes(8)).batch_size(4),
        quiet("ddp_local").max_epochs(1).devices(numbers).callback(Lister(&devices, &parameters)));
    CHECK(parameters == devices);
    return devices;
  };
  CHECK(devices_of({1, 2}) == std::vector<Device>{Device(kCPU, 1), Device(kCPU, 2)});
  CHECK(devices_of(2) == std::vector<Device>{kCPU, kCPU});
}
