// Tests the Trainer on one device: its steps, accumulation, clipping, schedules, metrics, and validation.
#include "tandem/nn/utils/clip_grad.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::classes;
using test::copy_state;
using test::quiet;
using test::sgd;
using State = std::vector<Tensor>;

namespace {

/// Trains by hand: in each step, the mean loss of `step_size` examples, in float64.
State train_by_hand(const data::datasets::TensorPairDataset& dataset, size_t step_size, size_t epochs,
                    const nn::CrossEntropyLoss& loss, double clip = 0) {
  nn::Sequential net = test::plain_net(kFloat64);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const size_t size = *data::datasets::TensorPairDataset(dataset).size();
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<size_t> order = test::order_of_epoch(size, epoch);
    for (size_t at = 0; at < size; at += step_size) {
      const std::vector<size_t> rows(order.begin() + static_cast<int64_t>(at),
                                     order.begin() + static_cast<int64_t>(std::min(size, at + step_size)));
      const data::Example<> batch = data::datasets::TensorPairDataset(dataset).get_stacked(rows);
      optimizer.zero_grad();
      loss(net(batch.data), batch.target).backward();
      if (clip > 0) nn::utils::clip_grad_norm_(net->parameters(), clip);
      optimizer.step();
    }
  }
  return copy_state(*net);
}
nn::CrossEntropyLoss weighted_loss() {
  return nn::CrossEntropyLoss(
      nn::CrossEntropyLossOptions().weight(tensor(std::vector<double>{0.5, 1.5, 1.0}, kFloat64)).label_smoothing(0.0));
}

}  // namespace

// 1e-12: float64, sums of at most 64 terms in another order.
TEST_CASE("a fit makes the steps of a loop written by hand", "[train]") {
  const auto dataset = classes(22, kFloat64);
  nn::Sequential net = test::plain_net(kFloat64);
  train::Trainer trainer(quiet().max_epochs(2).gradient_clip_val(0.3));
  trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), sgd()),
              train::DataSource(dataset).batch_size(4).shuffle(true));
  CHECK(trainer.global_step() == 12);
  CHECK(trainer.current_epoch() == 2);
  CHECK(test::state_difference(copy_state(*net), train_by_hand(dataset, 4, 2, nn::CrossEntropyLoss(), 0.3)) < 1e-12);
}

TEST_CASE("an accumulated step has the gradient of the mean over all its examples, also in an incomplete last group",
          "[train]") {
  const bool with_weights = GENERATE(false, true);  // class weights, and targets that are ignored
  const auto dataset = classes(22, kFloat64, with_weights);
  const nn::CrossEntropyLoss loss = with_weights ? weighted_loss() : nn::CrossEntropyLoss();
  nn::Sequential net = test::plain_net(kFloat64);
  train::Trainer trainer(quiet().max_epochs(2).accumulate_grad_batches(3));
  trainer.fit(train::make_training_module(net, loss, sgd()),
              train::DataSource(dataset).batch_size(4).shuffle(true));  // steps of 12 and 10 examples
  CHECK(trainer.global_step() == 4);
  CHECK(test::state_difference(copy_state(*net), train_by_hand(dataset, 12, 2, loss)) < 1e-12);
}

TEST_CASE("a step whose targets are all ignored has zero gradients", "[train]") {
  const bool on_gpu = GENERATE(false, true);
  const std::string strategy = GENERATE("single", "dp", "dp_loss", "ddp_local");
  const int devices = strategy == "single" ? 1 : 2;
  if (on_gpu && cuda::device_count() < devices) return;
  INFO(strategy << (on_gpu ? " on GPUs" : ""));
  const data::datasets::TensorPairDataset dataset(test::formula_tensor({8, 5}, 4, kFloat32), full({8}, -100, kInt64));
  nn::Sequential net = test::plain_net();
  const State before = copy_state(*net);
  train::Trainer trainer(quiet(strategy, devices).accelerator(on_gpu ? "gpu" : "cpu").max_epochs(1));
  trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), sgd()),
              train::DataSource(dataset).batch_size(4));
  net->to(kCPU);
  CHECK(trainer.global_step() == 2);
  CHECK(test::is_same_state(copy_state(*net), before));
}

TEST_CASE("a loss that is a function, and one of a class, give the same steps as the loss module", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override { layers = register_module("layers", test::plain_net(kFloat64)); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor loss(const Tensor& output, const data::Example<>& batch) override {
      return cross_entropy(output, batch.target);
    }
    train::Optimizers configure_optimizers() override { return sgd()(parameters()); }
    nn::Sequential layers{nullptr};
  };
  const auto dataset = classes(22, kFloat64);
  const auto source = train::DataSource(dataset).batch_size(4).shuffle(true);
  const auto options = quiet().max_epochs(2).accumulate_grad_batches(3);
  const State expected = train_by_hand(dataset, 12, 2, nn::CrossEntropyLoss());

  nn::Sequential net = test::plain_net(kFloat64);
  const auto function = [](const Tensor& output, const Tensor& target) { return cross_entropy(output, target); };
  train::Trainer(options).fit(train::make_training_module(net, function, sgd()), source);
  CHECK(test::state_difference(copy_state(*net), expected) < 1e-12);
  Net of_class;
  train::Trainer(options).fit(of_class, source);
  CHECK(test::state_difference(copy_state(of_class), expected) < 1e-12);
}

TEST_CASE("metrics are means over all examples, whatever the sizes of batches are", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override { layers = register_module("layers", test::plain_net()); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor training_step(const data::Example<>& batch) override {
      log("first", batch.data.select(1, 0).mean());
      return cross_entropy(forward(batch), batch.target);
    }
    void validation_step(const data::Example<>& batch) override { log("val_first", batch.data.select(1, 0).mean()); }
    train::Optimizers configure_optimizers() override { return sgd(0)(parameters()); }
    nn::Sequential layers{nullptr};
  };
  const auto dataset = classes(23);
  std::vector<std::pair<int64_t, std::string>> logged;
  Net net;
  train::Trainer trainer(quiet().max_epochs(1).log_every_n_steps(3).logger(
      [&](int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
        for (const auto& [name, value] : metrics) logged.emplace_back(step, name);
      }));
  const auto source = train::DataSource(dataset).batch_size(5);
  trainer.fit(net, source, source);
  const double mean = dataset.data.select(1, 0).to(kFloat64).mean().item<double>();
  const double loss = cross_entropy(net.layers(dataset.data), dataset.target).item<double>();  // the rate is 0
  CHECK(trainer.metrics().at("first_epoch") == Approx(mean).margin(1e-7));
  CHECK(trainer.metrics().at("val_first") == Approx(mean).margin(1e-7));
  CHECK(trainer.metrics().at("train_loss_epoch") == Approx(loss).epsilon(1e-6));
  // One report after step 3; step 5 ends the epoch, with its validation first.
  CHECK(logged == std::vector<std::pair<int64_t, std::string>>{
                      {3, "first"}, {3, "train_loss"}, {5, "val_first"}, {5, "first_epoch"}, {5, "train_loss_epoch"}});
  CHECK(trainer.validate(net, source).at("val_first") == Approx(mean).margin(1e-7));
}

TEST_CASE("a module can log values of a whole epoch or validation", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override { layers = register_module("layers", test::plain_net()); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor training_step(const data::Example<>& batch) override {
      trained += batch.data.size(0);
      return cross_entropy(forward(batch), batch.target);
    }
    void validation_step(const data::Example<>& batch) override { validated += batch.data.size(0); }
    void on_train_epoch_start() override { trained = 0; }
    void on_train_epoch_end() override { log("trained", static_cast<double>(trained)); }
    void on_validation_epoch_start() override { validated = 0; }
    void on_validation_epoch_end() override { log("validated", static_cast<double>(validated)); }
    train::Optimizers configure_optimizers() override { return sgd()(parameters()); }
    nn::Sequential layers{nullptr};
    int64_t trained = 0, validated = 0;
  };
  const int ranks = GENERATE(1, 2);
  Net net;
  train::Trainer trainer(quiet(ranks == 1 ? "single" : "ddp_local", ranks).max_epochs(2));
  trainer.fit(net, train::DataSource(classes(22)).batch_size(6), train::DataSource(classes(14)).batch_size(5));
  CHECK(trainer.metrics().at("trained_epoch") == 22.0 / ranks);
  CHECK(trainer.metrics().at("validated") == 14.0 / ranks);
}

TEST_CASE("schedules make steps after steps or epochs, and a plateau follows its metric", "[train]") {
  const auto rates_of = [](const std::function<void(train::Optimizers&, optim::Optimizer&)>& add) {
    std::vector<double> rates;
    struct Recorder : train::Callback {
      explicit Recorder(std::vector<double>* to) : to(to) {}
      void on_before_optimizer_step(train::Fit& fit) override { to->push_back(fit.optimizer().lr()); }
      std::vector<double>* to;
    };
    const auto make = [&](std::vector<Tensor> parameters) {
      train::Optimizers out = std::make_unique<optim::SGD>(parameters, optim::SGDOptions(1));
      add(out, *out.optimizer());
      return out;
    };
    train::Trainer(quiet().max_epochs(3).callback(Recorder(&rates)))
        .fit(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), make),
             train::DataSource(classes(8)).batch_size(4));
    return rates;
  };
  const auto add_step = [](const std::string& interval, int64_t frequency) {
    return [=](train::Optimizers& to, optim::Optimizer& optimizer) {
      to.schedule(std::make_shared<optim::StepLR>(optimizer, 1, 0.5), interval, frequency);
    };
  };
  using Rates = std::vector<double>;
  CHECK(rates_of(add_step("epoch", 1)) == Rates{1, 1, 0.5, 0.5, 0.25, 0.25});
  CHECK(rates_of(add_step("step", 1)) == Rates{1, 0.5, 0.25, 0.125, 0.0625, 0.03125});
  CHECK(rates_of(add_step("step", 2)) == Rates{1, 1, 0.5, 0.5, 0.25, 0.25});
  CHECK(rates_of(add_step("epoch", 2)) == Rates{1, 1, 1, 1, 0.5, 0.5});
  // Only an improvement by 1000 counts, so each epoch after the first reduces the rate.
  CHECK(rates_of([](train::Optimizers& to, optim::Optimizer& optimizer) {
          using Plateau = optim::ReduceLROnPlateauScheduler;
          to.schedule(std::make_shared<Plateau>(optimizer, Plateau::min, 0.5, 0, 1000, Plateau::abs),
                      "train_loss_epoch");
        }) == Rates{1, 1, 1, 1, 0.5, 0.5});
}

TEST_CASE("limits, intervals and max_steps determine what runs", "[train]") {
  struct Counter : train::Callback {
    explicit Counter(std::vector<std::string>* to) : to(to) {}
    void on_validation_end(train::Fit& fit) override { to->push_back("v" + std::to_string(fit.global_step())); }
    void on_train_epoch_end(train::Fit& fit) override { to->push_back("e" + std::to_string(fit.global_step())); }
    void on_train_batch_end(train::Fit& fit, int64_t i) override { last_batch = i, (void)fit; }
    std::vector<std::string>* to;
    int64_t last_batch = -1;
  };
  using Events = std::vector<std::string>;
  const auto events_of = [](train::TrainerOptions options) {
    Events events;
    const auto source = train::DataSource(classes(20)).batch_size(2);  // ten batches
    train::Trainer(options.callback(Counter(&events)))
        .fit(train::make_training_module(test::plain_net(), nn::CrossEntropyLoss(), sgd()), source, source);
    return events;
  };
  CHECK(events_of(quiet().max_epochs(2)) == Events{"v10", "e10", "v20", "e20"});
  CHECK(events_of(quiet().max_epochs(1).val_check_interval(4)) == Events{"v4", "v8", "e10"});
  CHECK(events_of(quiet().max_epochs(1).val_check_interval(0.5)) == Events{"v5", "v10", "e10"});
  CHECK(events_of(quiet().max_epochs(4).check_val_every_n_epoch(3)) == Events{"e10", "e20", "v30", "e30", "e40"});
  CHECK(events_of(quiet().max_epochs(2).check_val_every_n_epoch(std::nullopt).val_check_interval(4)) ==
        Events{"v4", "v8", "e10", "v12", "v16", "v20", "e20"});
  CHECK(events_of(quiet().max_epochs(3).check_val_every_n_epoch(std::nullopt).val_check_interval(15)) ==
        Events{"e10", "v15", "e20", "v30", "e30"});
  CHECK(events_of(quiet().max_epochs(2).limit_train_batches(3)) == Events{"v3", "e3", "v6", "e6"});
  CHECK(events_of(quiet().max_epochs(1).limit_train_batches(0.4).limit_val_batches(0)) == Events{"e4"});
  CHECK(events_of(quiet().max_steps(13)) == Events{"v10", "e10"});
  CHECK(events_of(quiet().max_epochs(1).accumulate_grad_batches(4).val_check_interval(4)) == Events{"v1", "v2", "e3"});
}

TEST_CASE("validation changes nothing in training: neither random numbers, nor buffers, nor modes", "[train]") {
  struct Net : train::TrainingModule<Net> {
    Net() { reset(); }
    void reset() override { layers = register_module("layers", test::noisy_net()); }
    Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
    Tensor loss(const Tensor& output, const data::Example<>& batch) override {
      return cross_entropy(output, batch.target);
    }
    void validation_step(const data::Example<>& batch) override {
      log("val_loss", loss(forward(batch), batch) + rand({}) * 0);  // draws a number
    }
    train::Optimizers configure_optimizers() override { return std::make_unique<optim::Adam>(parameters(), 1e-2); }
    nn::Sequential layers{nullptr};
  };
  const std::string strategy = GENERATE("single", "dp", "dp_loss", "ddp_local");
  const int devices = strategy == "single" ? 1 : 2;
  const auto trained = [&](bool validates, int64_t workers) {
    const auto draws = data::transforms::Lambda<data::Example<>>([](data::Example<> example) {
      example.data = example.data + 0.1 * randn({5});
      return example;
    });
    const auto source = train::DataSource(classes(22).map(draws)).batch_size(6).shuffle(true).workers(workers);
    Net net;
    net.layers[0]->eval();  // a mode that the user chose, and that training keeps
    const auto options = quiet(strategy, devices).max_epochs(3).val_check_interval(1);
    train::Trainer trainer(options);
    trainer.fit(net, source, validates ? std::optional(source) : std::nullopt);
    CHECK(trainer.metrics().contains("val_loss") == validates);
    CHECK_FALSE(net.layers[0]->is_training());
    CHECK(net.layers[1]->is_training());
    return copy_state(net);
  };
  const State expected = trained(false, 0);
  CHECK(test::is_same_state(trained(true, 0), expected));
  CHECK(test::is_same_state(trained(true, 2), expected));
}
