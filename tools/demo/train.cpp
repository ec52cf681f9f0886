// Implements train(): trains the network under one mode, and measures time, memory, transfers and accuracy.
#include "tandem/tools/demo/train.h"

#include <algorithm>
#include <numeric>

#include "tandem/tandem.h"
#include "tandem/tools/demo/agreement.h"
#include "tandem/tools/demo/show.h"

namespace tandem::tools {
namespace {

// Number of steps after which a loss on a GPU is read. Each read synchronizes with the GPU, so it is not done every
// step.
constexpr int64_t kStepsBetweenLossReads = 20;

/// Returns the bytes moved so far between devices (dp), or sent by this rank (ddp_*).
int64_t bytes_moved(const std::string& mode) {
  if (mode == "dp") return nn::parallel::bytes_moved();
  return mode == "single" ? 0 : distributed::default_group()->bytes_sent();
}
/// Sums a value over all ranks.
double sum_over_ranks(const TrainingMode& training_mode, double value) {
  if (training_mode.world_size == 1) return value;
  const Tensor sum = full({}, value, TensorOptions(kFloat64).device(distributed::default_group()->device()));
  distributed::all_reduce(sum);
  return sum.item<double>();
}

/// Returns `count` consecutive examples from index `begin`. Unlike images(), it does not load the whole set, which
/// would count as memory of the training.
data::Example<> get_examples(const FashionMNIST& data, int64_t begin, int64_t count) {
  std::vector<size_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), static_cast<size_t>(begin));
  return data.get_stacked(rows);
}

/// Returns the accuracy on the first n test images. Each rank classifies a part of them, and the numbers of correct
/// answers are summed over the ranks.
/// @param max_batch  number of images per forward pass
double measure_accuracy(const TrainingMode& training_mode, const FashionMNIST& test, int64_t n, int64_t max_batch) {
  const NoGradGuard guard;
  training_mode.set_training(false);
  const int64_t end = n * (training_mode.rank + 1) / training_mode.world_size;
  int64_t right = 0;
  for (int64_t at = n * training_mode.rank / training_mode.world_size; at < end; at += max_batch) {
    const data::Example<> batch = get_examples(test, at, std::min(max_batch, end - at));
    const Tensor predicted = training_mode.predict(batch.data.to(training_mode.devices[0])).argmax(1).to(kCPU);
    right += (predicted == batch.target).sum().item<int64_t>();
  }
  training_mode.set_training(true);
  return sum_over_ranks(training_mode, static_cast<double>(right)) / static_cast<double>(n);
}

std::vector<double> gather_peak_memory(const TrainingMode& training_mode) {
  std::vector<double> mib;
  for (const Device device : training_mode.devices)
    mib.push_back(static_cast<double>(memory_stats(device).peak) / (1 << 20));
  if (training_mode.world_size == 1) return mib;
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(training_mode.world_size));
  const TensorOptions number = TensorOptions(kFloat64).device(distributed::default_group()->device());
  for (int r = 0; r < training_mode.world_size; ++r) all.push_back(empty({}, number));
  distributed::all_gather(all, full({}, mib[0], number));
  mib.clear();
  for (const Tensor& peak : all) mib.push_back(peak.item<double>());
  return mib;
}

using Step = std::function<Tensor(const Tensor& images, const Tensor& labels)>;

/// Measures the test accuracy a few times during training, for the report's curve. Records the time and the bytes that
/// this takes, so that the caller can subtract them from those of the training. All ranks must call after_step()
/// together.
class AccuracyProbe {
 public:
  AccuracyProbe(const DemoSettings& s, const TrainingMode& training_mode, const DemoData& data, const std::string& mode,
                DemoRun& run)
      : training_mode_(training_mode), test_(data.test), mode_(mode), run_(run) {
    const int64_t steps = s.epochs * ((static_cast<int64_t>(*data.train.size()) + s.batch_size - 1) / s.batch_size);
    if (s.history) record_interval_ = std::max<int64_t>(1, steps / History::kNumEvaluations);
    // Never classifies more images at once than a training step has, so that peak memory does not rise.
    batch_size_ = std::min<int64_t>(s.batch_size, 500);
  }
  void after_step(int64_t step) {
    if (record_interval_ == 0 || step % record_interval_ != 0) return;
    for (const Device device : training_mode_.devices)
      if (device.is_cuda()) cuda::synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    const int64_t moved = bytes_moved(mode_), n = std::min(History::kEvaluationImages, test_.targets().size(0));
    run_.history.accuracies.push_back({step, measure_accuracy(training_mode_, test_, n, batch_size_)});
    bytes += bytes_moved(mode_) - moved;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  int64_t bytes = 0;
  double seconds = 0;

 private:
  const TrainingMode& training_mode_;
  const FashionMNIST& test_;
  const std::string& mode_;
  DemoRun& run_;
  int64_t record_interval_ = 0, batch_size_ = 0;
};

/// Classifies every test image on one device, and fills in the confusion matrix and the list of mistakes.
void record_confusion_and_mistakes(const Net& net, Device device, const FashionMNIST& test, History& history) {
  const NoGradGuard guard;
  net->eval();
  const Tensor& labels = test.targets();
  history.confusion.assign(kNumClasses * kNumClasses, 0);
  for (int64_t at = 0; at < labels.size(0); at += 500) {
    const int64_t rows = std::min<int64_t>(500, labels.size(0) - at);
    // lenet returns log probabilities; applying softmax to them gives the probabilities.
    const Tensor probabilities = softmax(net(get_examples(test, at, rows).data.to(device)), 1).to(kCPU);
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

/// Captures the second step as a Graph, and replays the graph for every later batch of the same size. Batches of
/// another size, such as the last one of an epoch, run without the graph.
class CapturedStep {
 public:
  explicit CapturedStep(Step step) : step_(std::move(step)) {}
  Tensor operator()(const Tensor& images, const Tensor& labels) {
    if (steps_++ == 0)
      // The first step is not captured, because the optimizer creates its state in it.
      return step_(images, labels);
    if (!images_.defined()) {
      images_ = images.clone();
      labels_ = labels.clone();
      graph_->capture([this] { loss_ = step_(images_, labels_).detach(); });
    }
    if (images.sizes() != images_.sizes()) return step_(images, labels);
    images_.copy_(images);
    labels_.copy_(labels);
    graph_->replay();
    return loss_;
  }

 private:
  Step step_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Tensor images_, labels_, loss_;
  int64_t steps_ = 0;
};

template <class Loader>
void train_epochs(const DemoSettings& s, const TrainingMode& training_mode, Loader& loader, int64_t samples,
                  const Step& step, const std::function<void(int)>& begin_epoch, AccuracyProbe& accuracy_probe,
                  DemoRun& run, int64_t& steps) {
  for (int epoch = 1; epoch <= s.epochs; ++epoch) {
    Progress progress(epoch, samples);
    begin_epoch(epoch);
    const auto start = std::chrono::steady_clock::now();
    int64_t done = 0;
    Tensor loss;
    for (auto& batch : loader) {
      loss = step(batch.data, batch.target);
      accuracy_probe.after_step(++steps);
      done = std::min(samples, done + batch.data.size(0) * training_mode.world_size);
      if (loss.is_cuda() && steps % kStepsBetweenLossReads != 0 && done < samples)
        // Reading the loss would wait for the GPU.
        continue;
      run.final_loss = loss.item<double>();
      if (s.history) run.history.losses.push_back({steps, run.final_loss});
      if (training_mode.rank == 0) progress.show(done, run.final_loss);
    }
    if (loss.defined()) run.final_loss = loss.item<double>();
    for (const Device device : training_mode.devices)
      if (device.is_cuda()) cuda::synchronize(device);
    run.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

}  // namespace

Device network_device(const std::string& mode, const DemoSettings& s) {
  if (mode == "ddp_nccl") return distributed::default_group()->device();
  // Each rank uses the device with its own number, so that GPUs are divided among the ranks. Ranks that are threads
  // need different devices because memory is counted per device.
  if (mode == "ddp_local" || (mode == "ddp_gloo" && s.device_of(0).is_cuda()))
    return s.device_of(distributed::get_rank());
  return s.device_of(0);
}

TrainingMode make_training_mode(const std::string& mode, const Net& net, const DemoSettings& s) {
  TrainingMode training_mode{net, {}, {}, {}, {net->parameters()[0].device()}};
  if (mode == "single") {
    training_mode.backward = [net, device = training_mode.devices[0]](const Tensor& x, const Tensor& y) {
      const Tensor loss = net->loss(net(x.to(device)), y.to(device));
      loss.backward();
      return loss;
    };
    training_mode.predict = [net](const Tensor& x) { return net(x); };
    training_mode.set_training = [net](bool on) { net->train(on); };
  } else if (mode == "dp") {
    training_mode.devices.clear();
    for (int i = 0; i < s.devices; ++i) training_mode.devices.push_back(s.device_of(i));
    const auto dp = std::make_shared<nn::parallel::DataParallel<Net>>(net, training_mode.devices);
    const auto part = [net](const Tensor& output, const Tensor& target) {
      return nn::parallel::LossPart(net->loss(output, target, Reduction::sum),
                                    full({}, static_cast<double>(target.numel()), output.options()));
    };
    training_mode.backward = [dp, part](const Tensor& x, const Tensor& y) {
      const Tensor loss = dp->loss(part, x, y);
      loss.backward();
      return loss;
    };
    training_mode.predict = [dp](const Tensor& x) { return (*dp)(x); };
    training_mode.set_training = [dp](bool on) { dp->train(on); };
  } else {
    const auto ddp = std::make_shared<nn::parallel::DistributedDataParallel<Net>>(net);
    training_mode.rank = distributed::get_rank();
    training_mode.world_size = distributed::get_world_size();
    training_mode.backward = [ddp, net](const Tensor& x, const Tensor& y) {
      const Tensor loss = net->loss((*ddp)(x), y.to(ddp->device()));
      loss.backward();
      return loss;
    };
    training_mode.predict = [ddp](const Tensor& x) { return (*ddp)(x); };
    training_mode.set_training = [ddp](bool on) { ddp->train(on); };
  }
  return training_mode;
}

DemoRun train(const DemoSettings& s, const DemoData& data, const std::string& mode) {
  const auto samples = static_cast<int64_t>(*data.train.size());
  manual_seed(s.seed);
  Net net(s.model);
  if (!s.load.empty()) load_module(net->network(), s.load);
  const Device device = network_device(mode, s);
  net->to(device);
  TrainingMode training_mode = make_training_mode(mode, net, s);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  Step step = [&](const Tensor& images, const Tensor& labels) {
    optimizer.zero_grad();
    Tensor loss = training_mode.backward(images, labels);
    optimizer.step();
    return loss;
  };
  if (s.capture && mode == "single") step = CapturedStep(step);
  DemoRun run;
  run.mode = mode;
  int64_t steps = 0;
  AccuracyProbe accuracy_probe(s, training_mode, data, mode, run);
  for (const Device device : training_mode.devices) reset_peak_memory_stats(device);
  const int64_t moved_before = bytes_moved(mode);
  data::DataLoaderOptions loading;
  loading.workers(1);
  if (device.is_cuda() && mode == "dp")
    loading.pin_memory(true);  // DataParallel copies its shards to the GPUs faster from pinned memory
  if (device.is_cuda() && mode != "dp") loading.device(device);
  const auto stacked = FashionMNIST(data.train).map(data::transforms::Stack<>());
  if (training_mode.world_size == 1) {
    auto loader = data::make_data_loader<data::samplers::RandomSampler>(
        stacked, loading.batch_size(static_cast<size_t>(s.batch_size)));
    train_epochs(
        s, training_mode, *loader, samples, step, [](int) {}, accuracy_probe, run, steps);
  } else {
    data::samplers::ShardSamplerOptions options;
    options.seed = s.seed;
    const data::samplers::ShardSampler sampler(static_cast<size_t>(samples),
                                               static_cast<size_t>(training_mode.world_size),
                                               static_cast<size_t>(training_mode.rank), options);
    auto loader = data::make_data_loader(
        stacked, sampler,
        loading.batch_size(static_cast<size_t>(std::max<int64_t>(s.batch_size / training_mode.world_size, 1))));
    const auto begin_epoch = [&loader](int epoch) { loader->sampler().set_epoch(static_cast<size_t>(epoch)); };
    train_epochs(s, training_mode, *loader, samples, step, begin_epoch, accuracy_probe, run, steps);
  }
  const double moved =
      sum_over_ranks(training_mode, static_cast<double>(bytes_moved(mode) - moved_before - accuracy_probe.bytes));
  run.mib_moved_per_step = moved / (1 << 20) / static_cast<double>(std::max<int64_t>(steps, 1));
  run.peak_mib_per_device = gather_peak_memory(training_mode);
  run.seconds -= accuracy_probe.seconds;
  run.test_accuracy = measure_accuracy(training_mode, data.test, data.test.targets().size(0), 500);
  run.history.steps = steps;
  if (s.history && training_mode.rank == 0) record_confusion_and_mistakes(net, device, data.test, run.history);
  run.samples_per_second = static_cast<double>(samples * s.epochs) / std::max(run.seconds, 1e-9);
  if (training_mode.rank == 0 && mode == s.modes[0]) {
    if (s.pictures) print_images(training_mode, data.test);
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
