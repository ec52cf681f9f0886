// The training of fashion_mnist on several devices of one process. DataParallel gives each device a part of every
// batch. If there are no GPUs, the devices are virtual: parts of the CPU that share its cores. usage: fashion_mnist_dp
// [FOLDER [EPOCHS [DEVICE [COUNT]]]]
//   FOLDER: folder of the data; default: where Debian's package dataset-fashion-mnist installs it
//   DEVICE: cpu or cuda; default: cuda if there is a GPU
//   COUNT: number of devices; default: all GPUs, or two virtual devices
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
  const Device first(argc > 3 ? argv[3] : cuda::is_available() ? "cuda" : "cpu");
  const int count = argc > 4 ? std::atoi(argv[4]) : first.is_cuda() ? cuda::device_count() : 2;
  if (first.is_cpu()) set_cpu_device_count(count);
  std::vector<Device> devices = {first};
  while (std::ssize(devices) < count) devices.emplace_back(first.type(), std::ssize(devices));
  manual_seed(1);

  using data::datasets::FashionMNIST;
  auto train = data::make_data_loader<data::samplers::RandomSampler>(
      FashionMNIST(folder).map(data::transforms::Stack<>()), data::DataLoaderOptions(128).workers(1).pin_memory(true));
  const FashionMNIST test(folder, FashionMNIST::Mode::kTest);
  const std::vector<Tensor> images = test.images().split(500), labels = test.targets().to(first).split(500);

  nn::Sequential net = make_network();
  net->to(first);
  nn::DataParallel dp(net, devices);  // devices[0] holds the module
  const nn::CrossEntropyLoss criterion;
  optim::AdamW optimizer(dp.parameters(), optim::AdamWOptions(2e-3));
  optim::CosineAnnealingLR schedule(optimizer, /*T_max=*/epochs);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    dp.train();
    Tensor loss_sum = zeros({}, first);
    int batches = 0;
    const int64_t before = nn::parallel::bytes_moved();
    for (auto& batch : *train) {
      optimizer.zero_grad();
      // Equals criterion(dp(batch.data), batch.target), but computes each device's part of the loss on that device.
      const Tensor loss = dp.loss(criterion, batch.data, batch.target);
      loss.backward();  // sums the replicas' gradients into the module's parameters
      nn::utils::clip_grad_norm_(dp.parameters(), 5.0);
      optimizer.step();
      loss_sum += loss.detach();
      ++batches;
    }
    schedule.step();
    const double mib = static_cast<double>(nn::parallel::bytes_moved() - before) / (1 << 20) / batches;

    dp.eval();
    const NoGradGuard no_grad;
    int64_t right = 0;
    for (size_t i = 0; i < images.size(); ++i) right += dp(images[i]).argmax(1).eq(labels[i]).sum().item<int64_t>();
    std::printf("epoch %d: loss %.3f, %.2f %% of the test images; %.2f MiB moved per step over %zu devices from %s\n",
                epoch, loss_sum.item<double>() / batches,
                100.0 * static_cast<double>(right) / static_cast<double>(test.targets().numel()), mib, devices.size(),
                first.str().c_str());
  }
  save(net, "fashion_mnist_dp.safetensors");
} catch (const std::exception& error) {
  std::fprintf(stderr, "fashion_mnist_dp: %s\n", error.what());
  return 1;
}
