// Measures how long it takes until a network classifies 99 % of MNIST's test images correctly. For each seed it trains
// a network for three epochs, and prints the test accuracy and the time that reading and training took.
//
// usage: mnist_99 FOLDER [SEEDS]    FOLDER: has MNIST's four files, plain or as .gz; SEEDS: number of seeds, default 1
#include <tandem/tandem.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace tandem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int64_t kBatchSize = 128, kNumEpochs = 3;

/// Returns the images (N, 1, 28, 28) normalized to mean 0 and standard deviation 1, in channels-last format, which is
/// the fastest for convolutions on the CPU.
Tensor normalize_images(const data::datasets::MNIST& set) {
  return ((set.images() - 0.1307) / 0.3081).contiguous(MemoryFormat::ChannelsLast);
}
/// Appends a convolution, BatchNorm2d, ReLU and MaxPool2d. The Sequential runs the last three as one fused operation.
void push_block(nn::Sequential& net, int64_t in, int64_t out, int64_t padding) {
  net->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(padding).bias(false)));
  net->push_back(nn::BatchNorm2d(out));
  net->push_back(nn::ReLU());
  net->push_back(nn::MaxPool2d(2));
}
nn::Sequential train_network(const Tensor& images, const Tensor& labels) {
  nn::Sequential net;
  push_block(net, 1, 16, 1);
  push_block(net, 16, 32, 0);
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(32 * 6 * 6, 10));
  net->to(MemoryFormat::ChannelsLast);

  const int64_t steps = kNumEpochs * ((images.size(0) + kBatchSize - 1) / kBatchSize);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.01).weight_decay(0));
  optim::OneCycleLR schedule(optimizer, 0.01, steps);
  for (int64_t step = 0; step < steps;) {
    for (const Tensor& rows : randperm(images.size(0)).split(kBatchSize)) {
      optimizer.zero_grad();
      cross_entropy(net(images.index_select(0, rows)), labels.index_select(0, rows)).backward();
      optimizer.step();
      if (++step < steps) schedule.step();
    }
  }
  return net;
}
double accuracy_percent(nn::Sequential& net, const Tensor& images, const Tensor& labels) {
  const InferenceMode guard;
  net->eval();
  int64_t right = 0;
  for (int64_t i = 0; i < images.size(0); i += 1000) {
    const int64_t n = std::min<int64_t>(1000, images.size(0) - i);
    right += net(images.narrow(0, i, n)).argmax(1).eq(labels.narrow(0, i, n)).sum().item<int64_t>();
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(images.size(0));
}

}  // namespace

int main(int argc, char** argv) try {
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 1;
  if (argc < 2 || seeds < 1) {
    std::fprintf(stderr, "usage: mnist_99 FOLDER [SEEDS]\n");
    return 2;
  }
  const data::datasets::MNIST test(argv[1], data::datasets::MNIST::Mode::kTest);
  double sum = 0, squares = 0, seconds = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    manual_seed(static_cast<uint64_t>(seed));
    const auto start = Clock::now();
    const data::datasets::MNIST train(argv[1]);
    nn::Sequential net = train_network(normalize_images(train), train.targets());
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    const double right = accuracy_percent(net, normalize_images(test), test.targets());
    std::printf("seed %d: %.2f %% of the test images after %.1f s\n", seed, right, took);
    std::fflush(stdout);
    sum += right, squares += right * right, seconds += took;
  }
  const double mean = sum / seeds;
  std::printf("mean of %d: %.3f %%, standard deviation %.3f, %.1f s, %d threads\n", seeds, mean,
              std::sqrt(std::max(0.0, squares / seeds - mean * mean)), seconds / seeds, get_num_threads());
} catch (const std::exception& error) {
  std::fprintf(stderr, "mnist_99: %s\n", error.what());
  return 1;
}
