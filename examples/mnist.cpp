// Trains a small convolutional network on MNIST's digits and saves it.
// usage: mnist FOLDER [EPOCHS]      FOLDER: has MNIST's four files (train-images-idx3-ubyte, ...), plain or as .gz
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>

using namespace tandem;

struct NetImpl : nn::Module {
  Tensor forward(Tensor x) {
    x = relu(max_pool2d(conv1(x), 2));
    x = relu(max_pool2d(conv2(x), 2));
    x = dropout(relu(fc1(x.flatten(1))), 0.5, is_training());
    return log_softmax(fc2(x), /*dim=*/1);
  }
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(1, 10, /*kernel_size=*/5));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(10, 20, /*kernel_size=*/5));
  nn::Linear fc1 = register_module("fc1", nn::Linear(320, 50));
  nn::Linear fc2 = register_module("fc2", nn::Linear(50, 10));
};
TANDEM_MODULE(Net);

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: mnist FOLDER [EPOCHS]\n");
    return 2;
  }
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  manual_seed(1);

  using data::datasets::MNIST;
  const data::transforms::Normalize<> normalize(0.1307, 0.3081);
  const data::transforms::Stack<> stack;
  auto train = data::make_data_loader<data::samplers::RandomSampler>(MNIST(argv[1]).map(normalize).map(stack),
                                                                     data::DataLoaderOptions(64).workers(1));
  auto test = data::make_data_loader<data::samplers::SequentialSampler>(
      MNIST(argv[1], MNIST::Mode::kTest).map(normalize).map(stack), data::DataLoaderOptions(1000));

  Net net;
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.02).momentum(0.9));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    net->train();
    for (auto& batch : *train) {
      optimizer.zero_grad();
      nll_loss(net(batch.data), batch.target).backward();
      optimizer.step();
    }

    net->eval();
    const NoGradGuard no_grad;
    int64_t right = 0, seen = 0;
    for (auto& batch : *test) {
      right += net(batch.data).argmax(1).eq(batch.target).sum().item<int64_t>();
      seen += batch.target.numel();
    }
    std::printf("epoch %d: %.2f %% of %lld test images\n", epoch,
                100.0 * static_cast<double>(right) / static_cast<double>(seen), static_cast<long long>(seen));
  }
  save(net, "mnist.safetensors");
} catch (const std::exception& error) {
  std::fprintf(stderr, "mnist: %s\n", error.what());
  return 1;
}
