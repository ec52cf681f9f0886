// Implements train(): trains the network under one mode with the Trainer, and measures time, memory, transfers and
// accuracy.
#include "tandem/tools/demo/train.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tandem/tandem.h"
#include "tandem/tools/demo/agreement.h"
#include "tandem/tools/demo/show.h"
#include "tandem/train/train.h"

namespace tandem::tools {
namespace {

using std::chrono::steady_clock;

// Number of steps after which a loss on a GPU is read. Each read synchronizes with the GPU, so it is not done every
// step.
constexpr int64_t kStepsBetweenLossReads = 20;

/// Returns the bytes moved so far between devices (dp), or sent by this rank (ddp_*).
int64_t bytes_moved(const std::string& mode) {
  if (mode == "dp") return nn::parallel::bytes_moved();
  return mode == "single" ? 0 : distributed::default_group()->bytes_sent();
}
double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}
/// Returns the accuracy that follows from a confusion matrix.
double accuracy_of(const Tensor& confusion) {
  return static_cast<double>(confusion.diagonal().sum().item<int64_t>()) /
         static_cast<double>(confusion.sum().item<int64_t>());
}

/// The order of the examples of DDP: each batch over all ranks consists of a batch of each rank's ShardSampler.
class ShardedOrder : public data::samplers::Sampler<> {
 public:
  ShardedOrder(int64_t size, int64_t ranks, uint64_t seed) {
    data::samplers::ShardSamplerOptions options;
    options.seed = seed;
    for (int64_t r = 0; r < ranks; ++r) shards_.emplace_back(size, ranks, r, options);
  }
  void reset(std::optional<size_t>) override {
    for (auto& shard : shards_) shard.reset();
  }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    std::vector<size_t> all;
    for (auto& shard : shards_)
      if (const auto part = shard.next(batch_size / shards_.size())) all.insert(all.end(), part->begin(), part->end());
    return all.empty() ? std::nullopt : std::optional(std::move(all));
  }
  void save(serialize::OutputArchive&) const override {}  // the demo saves no checkpoints
  void load(serialize::InputArchive&) override {}
  void set_epoch(size_t epoch) {
    for (auto& shard : shards_) shard.set_epoch(epoch + 1);
  }
  size_t index() const { return shards_[0].index() * shards_.size(); }
  size_t epoch_size() const { return shards_[0].epoch_size() * shards_.size(); }

 private:
  std::vector<data::samplers::ShardSampler> shards_;
};

/// Records a training, and shows its progress. Time and transfers of validations do not count.
class Recorder : public train::Callback {
 public:
  Recorder(const std::string& mode, int64_t samples, int64_t batch_size, bool history, DemoRun& run)
      : mode_(mode), samples_(samples), batch_size_(batch_size), history_(history), run_(run) {}
  void on_train_start(train::Fit& fit) override {
    for (const Device device : fit.devices()) reset_peak_memory_stats(device);
  }
  void on_train_epoch_start(train::Fit& fit) override {
    progress_.emplace(static_cast<int>(fit.epoch()) + 1, samples_);
    start_ = steady_clock::now();
  }
  void on_train_batch_start(train::Fit&, int64_t) override { moved_before_ = bytes_moved(mode_); }
  void on_train_batch_end(train::Fit& fit, int64_t batch) override {
    moved_ += bytes_moved(mode_) - moved_before_;
    const int64_t done = std::min(samples_, (batch + 1) * batch_size_), step = fit.global_step();
    const Tensor loss = fit.loss();
    // Reading the loss would wait for the GPU.
    if (loss.is_cuda() && step % kStepsBetweenLossReads != 0 && done < samples_) return;
    run_.final_loss = loss.item<double>();
    if (history_) run_.history.losses.push_back({step, run_.final_loss});
    if (fit.rank() == 0) progress_->show(done, run_.final_loss);
  }
  void on_validation_start(train::Fit& fit) override {
    synchronize(fit);
    validation_start_ = steady_clock::now();
  }
  void on_validation_end(train::Fit& fit) override {
    run_.history.accuracies.push_back({fit.global_step(), accuracy_of(fit.metric_values().at("confusion"))});
    run_.seconds -= seconds_since(validation_start_);
  }
  void on_train_epoch_end(train::Fit& fit) override {
    synchronize(fit);
    run_.seconds += seconds_since(start_);
  }
  void on_train_end(train::Fit& fit) override {
    run_.history.steps = fit.global_step();
    run_.mib_moved_per_step = fit.sum_over_ranks(static_cast<double>(moved_)) / (1 << 20) /
                              static_cast<double>(std::max<int64_t>(fit.global_step(), 1));
    for (const Device device : fit.devices())
      run_.peak_mib_per_device.push_back(static_cast<double>(memory_stats(device).peak) / (1 << 20));
    const double own = run_.peak_mib_per_device[0];
    if (fit.world_size() > 1) run_.peak_mib_per_device.clear();
    for (int rank = 0; rank < fit.world_size() && fit.world_size() > 1; ++rank)
      run_.peak_mib_per_device.push_back(fit.sum_over_ranks(rank == fit.rank() ? own : 0));
  }

 private:
  static void synchronize(const train::Fit& fit) {
    for (const Device device : fit.devices())
      if (device.is_cuda()) cuda::synchronize(device);
  }
  const std::string mode_;
  const int64_t samples_, batch_size_;
  const bool history_;
  DemoRun& run_;
  std::optional<Progress> progress_;
  steady_clock::time_point start_, validation_start_;
  int64_t moved_before_ = 0, moved_ = 0;
};

/// Classifies every test image on one device, and fills in the confusion matrix and the list of mistakes.
void record_confusion_and_mistakes(const Net& net, Device device, const FashionMNIST& test, History& history) {
  const NoGradGuard guard;
  net->eval();
  const Tensor& labels = test.targets();
  history.confusion.assign(kNumClasses * kNumClasses, 0);
  for (int64_t at = 0; at < labels.size(0); at += 500) {
    const int64_t rows = std::min<int64_t>(500, labels.size(0) - at);
    std::vector<size_t> indices(static_cast<size_t>(rows));
    std::iota(indices.begin(), indices.end(), static_cast<size_t>(at));
    // lenet returns log probabilities; applying softmax to them gives the probabilities.
    const Tensor probabilities = softmax(net(test.get_stacked(indices).data.to(device)), 1).to(kCPU);
    const auto [best, predicted] = probabilities.max(1);
    for (int64_t i = 0; i < rows; ++i) {
      const auto truth = static_cast<int>(labels[at + i].item<int64_t>());
      const auto predicted_class = static_cast<int>(predicted[i].item<int64_t>());
      ++history.confusion[static_cast<size_t>(truth * kNumClasses + predicted_class)];
      if (truth != predicted_class)
        history.mistakes.push_back({at + i, truth, predicted_class, best[i].item<double>()});
    }
  }
  net->train();
  std::stable_sort(history.mistakes.begin(), history.mistakes.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  if (history.mistakes.size() > History::kMaxMistakes) history.mistakes.resize(History::kMaxMistakes);
}

}  // namespace

Net make_net(const DemoSettings& s, const std::string& mode) {
  manual_seed(s.seed);
  Net net(s.model);
  if (mode == "dp") {
    net->reduction = Reduction::sum;
    net->adds_shards = true;
  }
  return net;
}

train::TrainerOptions trainer_options(const DemoSettings& s, const std::string& mode) {
  std::vector<int> numbers;
  // Ranks that are threads need different devices of the CPU, because memory is counted per device.
  const int count = mode == "dp" ? s.devices : mode == "ddp_local" && s.device_of(0).is_cpu() ? s.ranks : 0;
  numbers.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  auto options = train::TrainerOptions()
                     .accelerator(s.device_of(0).is_cpu() ? "cpu" : "gpu")
                     .strategy(mode == "dp"       ? "dp_loss"
                               : mode == "single" ? "single"
                                                  : "ddp")
                     .deterministic(are_deterministic_algorithms_enabled())
                     .log_every_n_steps(std::numeric_limits<int64_t>::max())
                     .enable_progress_bar(false);
  return mode == "single" ? options.devices(1) : numbers.empty() ? options : options.devices(numbers);
}

DemoRun train(const DemoSettings& s, const DemoData& data, const std::string& mode) {
  const auto samples = static_cast<int64_t>(*data.train.size()), images = data.test.targets().size(0);
  const bool in_ranks = mode.starts_with("ddp");
  const int64_t ranks = in_ranks ? distributed::get_world_size() : 1, rank = in_ranks ? distributed::get_rank() : 0;
  const int64_t batch_size = std::max<int64_t>(s.batch_size / ranks, 1) * ranks;
  const Net net = make_net(s, mode);
  net->count_predictions();
  if (!s.load.empty()) load_module(net->network(), s.load);
  DemoRun run;
  run.mode = mode;
  auto training = train::DataSource(data.train).batch_size(batch_size).workers(1);
  if (ranks > 1)
    training.sampler([=, seed = s.seed] { return ShardedOrder(samples, ranks, seed); });
  else
    training.sampler([samples] { return data::samplers::RandomSampler(samples); });
  const auto recorder = std::make_shared<Recorder>(mode, samples, batch_size, s.history, run);
  train::TrainerOptions options = trainer_options(s, mode).max_epochs(s.epochs).callback(recorder);
  std::optional<train::DataSource> validation;
  if (s.history) {
    // Never classifies more images at once than a training step has on a device, so that peak memory does not rise.
    const int64_t at_once = std::max<int64_t>(batch_size / (mode == "dp" ? s.devices : 1), 1);
    validation = train::DataSource(data.test).batch_size(std::max(std::min<int64_t>(at_once, 500), ranks));
    validation->sampler([first = std::min(History::kEvaluationImages, images)] {
      return data::samplers::ShardSampler(static_cast<size_t>(first), 1, 0, {.shuffle = false});
    });
    const int64_t steps = s.epochs * ((samples + s.batch_size - 1) / s.batch_size);
    options.check_val_every_n_epoch(std::nullopt);
    options.val_check_interval(std::max<int64_t>(1, steps / History::kNumEvaluations));
  }
  train::Trainer trainer(options.capture(s.capture && mode == "single"));
  trainer.fit(net, training, validation);
  train::Trainer tester(trainer_options(s, mode));
  tester.validate(net, train::DataSource(data.test).batch_size(500));
  run.test_accuracy = accuracy_of(tester.metric_values().at("confusion"));
  const Device device = net->parameters()[0].device();
  if (s.history && rank == 0) record_confusion_and_mistakes(net, device, data.test, run.history);
  run.samples_per_second = static_cast<double>(samples * s.epochs) / std::max(run.seconds, 1e-9);
  if (rank == 0 && mode == s.modes[0]) {
    if (s.pictures) print_images(net, data.test);
    if (!s.save.empty()) try {
        save_module(net->network(), s.save);
        // If saving fails, the other modes still run, and the measured values are kept.
      } catch (const Error& error) {
        run.not_saved = error.what();
      }
  }
  if (mode != "single") run.max_parameter_difference = largest_difference(s, mode, data.train, s.compare_steps);
  return run;
}

}  // namespace tandem::tools
