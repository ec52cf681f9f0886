// Tests the three fashion_mnist examples on emulated GPUs. The model that they save must equal, bit for bit, a model
// trained on one GPU that processes the shards of each step one after another.
#include <unistd.h>

#include <functional>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// Makes the network of the examples.
nn::Sequential make_network() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::BatchNorm2d(32),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(32 * 7 * 7, 128), nn::ReLU(),
                        nn::Dropout(0.25), nn::Linear(128, 10));
}

constexpr int kEpochs = 2;
enum class TrainingMode { single, dp, ddp };
using Shards = std::vector<data::Example<>>;

Shards cut(const data::Example<>& batch, size_t count) {
  Shards shards;
  int64_t first = 0;
  for (const int64_t rows : nn::parallel::shard_sizes(batch.data.size(0), count)) {
    shards.push_back({batch.data.narrow(0, first, rows), batch.target.narrow(0, first, rows)});
    first += rows;
  }
  return shards;
}
/// Returns a function that maps an epoch to its steps. Each step is the list of shards of its batch.
std::function<std::vector<Shards>(size_t)> make_steps(TrainingMode mode, size_t count, const std::string& folder) {
  const auto stacked = data::datasets::FashionMNIST(folder).map(data::transforms::Stack<>());
  if (mode != TrainingMode::ddp) {
    const std::shared_ptr loader = data::make_data_loader<data::samplers::RandomSampler>(stacked, 128);
    return [count, loader](size_t) {
      std::vector<Shards> steps;
      for (const auto& batch : *loader) steps.push_back(cut(batch, count));
      return steps;
    };
  }
  return [count, stacked](size_t epoch) {
    std::vector<Shards> steps;
    for (size_t r = 0; r < count; ++r) {
      data::samplers::ShardSampler sampler(*stacked.size(), count, r);
      sampler.set_epoch(epoch);
      const auto loader = data::make_data_loader(stacked, sampler, data::DataLoaderOptions(128 / count));
      size_t step = 0;
      for (const auto& batch : *loader) {
        if (step == steps.size()) steps.emplace_back();
        steps[step++].push_back(batch);
      }
    }
    return steps;
  };
}

/// Computes the gradients of a step. In mode dp it adds the gradients of (sum of the shard's losses) / N; otherwise it
/// averages the gradients of the shards' mean losses. Shard r uses generator r, and the running statistics of batch
/// norm are those after the first shard.
void backward(TrainingMode mode, nn::Sequential& net, const Shards& shards, Device device) {
  int64_t rows = 0;
  for (const data::Example<>& shard : shards) rows += shard.data.size(0);
  std::vector<Tensor> after_first;
  for (size_t r = 0; r < shards.size(); ++r) {
    const GeneratorGuard guard(default_generator(device, r));
    const Tensor output = net(shards[r].data.to(device)), target = shards[r].target.to(device);
    if (mode == TrainingMode::dp)
      (cross_entropy(output, target, {}, Reduction::sum) / static_cast<double>(rows)).backward();
    else
      cross_entropy(output, target).backward();
    if (r == 0)
      for (const Tensor& b : net->buffers()) after_first.push_back(b.clone());
  }
  const NoGradGuard no_grad;
  if (mode != TrainingMode::dp)
    for (const Tensor& p : net->parameters()) p.mutable_grad().mul_(1.0 / static_cast<double>(shards.size()));
  for (size_t i = 0; i < after_first.size(); ++i) Tensor(net->buffers()[i]).copy_(after_first[i]);
}

/// Trains on one GPU and returns the network.
nn::Sequential train(TrainingMode mode, size_t shards, const std::string& folder) {
  const Device device("cuda");
  manual_seed(1);
  const auto steps = make_steps(mode, shards, folder);
  nn::Sequential net = make_network();
  net->to(device);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(2e-3));
  optim::CosineAnnealingLR schedule(optimizer, kEpochs);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    for (const Shards& step : steps(static_cast<size_t>(epoch))) {
      optimizer.zero_grad();
      backward(mode, net, step, device);
      nn::utils::clip_grad_norm_(net->parameters(), 5.0);
      optimizer.step();
    }
    schedule.step();
  }
  return net;
}

/// Runs an example in a temporary folder, and compares the model that it saves there.
void check(TrainingMode mode, const std::string& program, const std::string& end,
           std::vector<std::string> launcher = {}) {
  const size_t shards = mode == TrainingMode::single ? 1 : 2;
  const TemporaryFolder folder;
  write_digits(folder.path(), 13, 4);  // shards of 7 and 6 images; ddp pads them to 7
  std::vector<std::string> command = std::move(launcher);
  command.insert(command.end(),
                 {std::string(kExamples) + "/" + program, folder.path(), std::to_string(kEpochs), "cuda"});
  if (mode != TrainingMode::single) command.push_back(std::to_string(shards));
  const Result result = run_program(command[0], {command.begin() + 1, command.end()}, [&] {
    if (::chdir(folder.path().c_str()) != 0) ::_exit(126);
  });
  INFO(result.output);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.output, Contains("epoch 2: loss ") && Contains(end));

  const nn::Sequential reference = train(mode, shards, folder.path());
  save(reference, folder / "reference.safetensors");
  const auto found = load_safetensors(folder / (program + ".safetensors"));
  const auto expected = load_safetensors(folder / "reference.safetensors");
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(found.at(name).equal(tensor));
  }
  const bool same_bits = read_file(folder / (program + ".safetensors")) == read_file(folder / "reference.safetensors");
  CHECK(same_bits);
}

}  // namespace

TEST_CASE("example fashion_mnist on an emulated GPU equals its reference", "[examples]") {
  check(TrainingMode::single, "fashion_mnist", "on cuda:0");
}
TEST_CASE("example fashion_mnist_dp over two emulated GPUs equals its reference", "[examples]") {
  check(TrainingMode::dp, "fashion_mnist_dp", "over 2 devices from cuda:0");
}
TEST_CASE("example fashion_mnist_ddp by threads on two emulated GPUs equals its reference", "[examples]") {
  check(TrainingMode::ddp, "fashion_mnist_ddp", "over 2 ranks from cuda:0");
}
TEST_CASE("example fashion_mnist_ddp by processes on two emulated GPUs equals its reference", "[examples]") {
  if (!TANDEM_HAS_GLOO) {
    WARN("SKIPPED: built without Gloo");
    return;
  }
  check(TrainingMode::ddp, "fashion_mnist_ddp", "over 2 ranks from cuda:0", {kCommand, "launch", "-n", "2", "--"});
}
