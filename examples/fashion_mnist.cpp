// Trains a convolutional network on FashionMNIST with a decaying learning rate, on a GPU if there is one, and saves it.
// usage: fashion_mnist [FOLDER [EPOCHS [DEVICE]]]
//   FOLDER: folder of the data; default: where Debian's package dataset-fashion-mnist installs it
//   DEVICE: cpu, cuda, cuda:1, ...
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
  const Device device(argc > 3 ? argv[3] : cuda::is_available() ? "cuda" : "cpu");
  manual_seed(1);

  using data::datasets::FashionMNIST;
  auto train = data::make_data_loader<data::samplers::RandomSampler>(
      FashionMNIST(folder).map(data::transforms::Stack<>()), data::DataLoaderOptions(128).workers(1).device(device));
  const FashionMNIST test(folder, FashionMNIST::Mode::kTest);
  const std::vector<Tensor> images = test.images().to(device).split(500), labels = test.targets().to(device).split(500);

  nn::Sequential net = make_network();
  net->to(device);
  if (device.is_cpu()) net->to(MemoryFormat::ChannelsLast);  // the fastest format for convolutions on the CPU
  std::cout << net << "\n";
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(2e-3));
  optim::CosineAnnealingLR schedule(optimizer, /*T_max=*/epochs);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    net->train();
    Tensor loss_sum = zeros({}, device);  // sums on the device, because item() in every step would wait for the device
    int batches = 0;
    for (auto& batch : *train) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(net(batch.data), batch.target);
      loss.backward();
      nn::utils::clip_grad_norm_(net->parameters(), 5.0);
      optimizer.step();
      loss_sum += loss.detach();
      ++batches;
    }
    schedule.step();

    net->eval();
    const NoGradGuard no_grad;
    int64_t right = 0;
    for (size_t i = 0; i < images.size(); ++i) right += net(images[i]).argmax(1).eq(labels[i]).sum().item<int64_t>();
    std::printf("epoch %d: loss %.3f, %.2f %% of the test images on %s\n", epoch, loss_sum.item<double>() / batches,
                100.0 * static_cast<double>(right) / static_cast<double>(test.targets().numel()), device.str().c_str());
  }
  save(net, "fashion_mnist.safetensors");
} catch (const std::exception& error) {
  std::fprintf(stderr, "fashion_mnist: %s\n", error.what());
  return 1;
}
