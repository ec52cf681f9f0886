// An MNIST training program, as a LibTorch user would write it.
// usage: mnist FOLDER [EPOCHS [LEAST_ACCURACY]]
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

constexpr int64_t kTrainBatchSize = 64;
constexpr int64_t kTestBatchSize = 1000;
constexpr int64_t kLogInterval = 10;

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 10, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(10, 20, /*kernel_size=*/5).stride(1).bias(true)),
        fc1(320, 50),
        fc2(torch::nn::LinearOptions(50, 10)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), {2, 2}));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*train=*/is_training());
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Dropout2d conv2_drop{torch::nn::Dropout2dOptions().p(0.25)};
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

template <typename DataLoader>
void train(size_t epoch, Net& model, torch::Device device, DataLoader& loader, torch::optim::Optimizer& optimizer,
           size_t dataset_size) {
  model.train();
  size_t batch_index = 0;
  for (auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();

    if (batch_index++ % kLogInterval == 0) {
      std::printf("Train Epoch: %ld [%5ld/%5ld] Loss: %.4f\n", static_cast<long>(epoch),
                  static_cast<long>(batch_index * batch.data.size(0)), static_cast<long>(dataset_size),
                  loss.template item<float>());
    }
  }
}

template <typename DataLoader> double test(Net& model, torch::Device device, DataLoader& loader, size_t dataset_size) {
  torch::NoGradGuard no_grad;
  model.eval();
  double loss = 0;
  int64_t correct = 0;
  for (const auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    loss += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
    auto pred = output.argmax(1);
    correct += pred.eq(targets).sum().template item<int64_t>();
  }
  loss /= dataset_size;
  const double accuracy = static_cast<double>(correct) / dataset_size;
  std::printf("Test set: Average loss: %.4f | Accuracy: %.3f\n", loss, accuracy);
  return accuracy;
}

int main(int argc, char** argv) {
  TORCH_CHECK(argc > 1, "usage: mnist FOLDER [EPOCHS [LEAST_ACCURACY]]");
  const std::string folder = argv[1];
  const size_t epochs = argc > 2 ? std::stoul(argv[2]) : 10;
  const double least_accuracy = argc > 3 ? std::stod(argv[3]) : 0;

  torch::manual_seed(1);
  torch::DeviceType device_type = torch::kCPU;
  if (torch::cuda::is_available()) {
    std::cout << "CUDA available! Training on GPU." << std::endl;
    device_type = torch::kCUDA;
  }
  torch::Device device(device_type);

  Net model;
  model.to(device);

  auto train_dataset = torch::data::datasets::MNIST(folder)
                           .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                           .map(torch::data::transforms::Stack<>());
  const size_t train_size = train_dataset.size().value();
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(train_dataset),
                                                                                              kTrainBatchSize);

  auto test_dataset = torch::data::datasets::MNIST(folder, torch::data::datasets::MNIST::Mode::kTest)
                          .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                          .map(torch::data::transforms::Stack<>());
  const size_t test_size = test_dataset.size().value();
  auto test_loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(test_dataset), torch::data::DataLoaderOptions().batch_size(kTestBatchSize).workers(1));

  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  double accuracy = 0;
  for (size_t epoch = 1; epoch <= epochs; ++epoch) {
    train(epoch, model, device, *train_loader, optimizer, train_size);
    accuracy = test(model, device, *test_loader, test_size);
  }

  // Saves and reloads the trained model.
  auto trained = std::make_shared<Net>(model), restored = std::make_shared<Net>();
  torch::save(trained, "mnist_model.pt");
  torch::save(optimizer, "mnist_optimizer.pt");
  torch::load(restored, "mnist_model.pt");
  torch::load(optimizer, "mnist_optimizer.pt");
  restored->to(device);
  TORCH_CHECK(test(*restored, device, *test_loader, test_size) == accuracy, "the restored model differs");
  return accuracy >= least_accuracy ? EXIT_SUCCESS : EXIT_FAILURE;
}
