// As fashion_mnist, over several devices of this process: DataParallel gives each a part of every batch. The devices
// are virtual, parts of the CPU that share its cores; on GPUs only their names differ. usage: fashion_mnist_dp [FOLDER
// [EPOCHS [DEVICES]]]
//   FOLDER: where Debian's package dataset-fashion-mnist puts it, by default     DEVICES: how many, by default 2
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace tandem;

nn::Sequential make_network() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::BatchNorm2d(32),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(32 * 7 * 7, 128), nn::ReLU(),
                        nn::Dropout(0.25), nn::Linear(128, 10));
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  set_cpu_device_count(argc > 3 ? std::atoi(argv[3]) : 2);
  manual_seed(1);

  using data::datasets::FashionMNIST;
  auto train = data::make_data_loader<data::samplers::RandomSampler>(
      FashionMNIST(folder).map(data::transforms::Stack<>()), data::DataLoaderOptions(128).workers(1));
  const FashionMNIST test(folder, FashionMNIST::Mode::kTest);
  const std::vector<Tensor> images = test.images().split(500), labels = test.targets().split(500);

  nn::Sequential net = make_network();
  nn::DataParallel dp(net);  // over all devices; the first holds the module
  const nn::CrossEntropyLoss criterion;
  optim::AdamW optimizer(dp.parameters(), optim::AdamWOptions(2e-3));
  optim::CosineAnnealingLR schedule(optimizer, /*T_max=*/epochs);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    dp.train();
    double loss_sum = 0;
    int batches = 0;
    const int64_t before = nn::parallel::bytes_moved();
    for (auto& batch : *train) {
      optimizer.zero_grad();
      // The same as criterion(dp(batch.data), batch.target), computed where the outputs are.
      const Tensor loss = dp.loss(criterion, batch.data, batch.target);
      loss.backward();  // the replicas' gradients are added up in the module's parameters
      nn::utils::clip_grad_norm_(dp.parameters(), 5.0);
      optimizer.step();
      loss_sum += loss.item<double>();
      ++batches;
    }
    schedule.step();
    const double mib = static_cast<double>(nn::parallel::bytes_moved() - before) / (1 << 20) / batches;

    dp.eval();
    const NoGradGuard no_grad;
    int64_t right = 0;
    for (size_t i = 0; i < images.size(); ++i) right += dp(images[i]).argmax(1).eq(labels[i]).sum().item<int64_t>();
    std::printf("epoch %d: loss %.3f, %.2f %% of the test images; %.2f MiB moved per step over %zu devices\n", epoch,
                loss_sum / batches, 100.0 * static_cast<double>(right) / static_cast<double>(test.targets().numel()),
                mib, dp.devices().size());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "fashion_mnist_dp: %s\n", error.what());
  return 1;
}
