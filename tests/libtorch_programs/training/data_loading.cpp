// A user-defined dataset with transforms and loaders, and a line that is fitted to its batches.
#include <torch/torch.h>

#include <iostream>
#include <utility>
#include <vector>

class Points : public torch::data::datasets::Dataset<Points> {
 public:
  enum class Mode { kTrain, kTest };
  Points(Mode mode, int64_t count) : train_(mode == Mode::kTrain), count_(count) {
    x_ = torch::linspace(train_ ? -1.0 : -0.9, 1, count * 2, torch::kFloat64).view({count, 2});
    y_ = x_.matmul(torch::tensor({2.0, -3.0}, torch::kFloat64)) + 0.5;
  }
  torch::data::Example<> get(size_t index) override {
    const auto i = static_cast<int64_t>(index);
    return {x_[i], y_[i]};
  }
  torch::optional<size_t> size() const override { return static_cast<size_t>(count_); }
  bool is_train() const { return train_; }

 private:
  bool train_;
  int64_t count_;
  torch::Tensor x_, y_;
};

/// Adds a constant to the inputs and keeps the targets.
struct Shift : torch::data::transforms::TensorTransform<> {
  explicit Shift(double by) : by(by) {}
  torch::Tensor operator()(torch::Tensor input) override { return input + by; }
  double by;
};

template <class Loader> void show(const char* name, Loader& loader) {
  std::cout << name << ':';
  for (auto& batch : *loader) std::cout << ' ' << batch.data.sizes() << ' ' << batch.data.sum().template item<double>();
  std::cout << '\n';
}

int main() {
  using torch::data::transforms::Lambda;
  using torch::data::transforms::Normalize;
  using torch::data::transforms::Stack;
  auto stacked = Points(Points::Mode::kTrain, 10).map(Stack<>());
  std::cout << stacked.size().value() << ' ' << stacked.dataset().is_train() << '\n';
  for (const size_t workers : {0, 2}) {
    auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        stacked, torch::data::DataLoaderOptions().batch_size(4).workers(workers).enforce_ordering(true));
    show("kept", loader);
    auto dropped = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        stacked, torch::data::DataLoaderOptions(4).workers(workers).drop_last(true));
    show("dropped", dropped);
  }
  auto changed = Points(Points::Mode::kTest, 6)
                     .map(Shift(1))
                     .map(Normalize<>(0.5, 2.0))
                     .map(Lambda<torch::data::Example<>>([](torch::data::Example<> example) {
                       return torch::data::Example<>{example.data.flip(0), example.target * 10};
                     }))
                     .map(Stack<>());
  const auto whole = changed.get_batch({0, 2, 5});
  std::cout << whole.data << '\n' << whole.target << '\n';

  auto unstacked = torch::data::make_data_loader(Points(Points::Mode::kTest, 5),
                                                 torch::data::samplers::SequentialSampler(5), /*options=*/2);
  for (const std::vector<torch::data::Example<>>& batch : *unstacked) {
    std::cout << batch.size() << ':';
    for (const auto& example : batch) std::cout << ' ' << example.target.item<double>();
    std::cout << '\n';
  }

  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Points(Points::Mode::kTrain, 16).map(Stack<>()), torch::data::DataLoaderOptions(5).workers(2));
  torch::nn::Linear line(2, 1);
  line->to(torch::kFloat64);
  torch::nn::init::constant_(line->weight, 0.1);
  torch::nn::init::zeros_(line->bias);
  torch::optim::SGD optimizer(line->parameters(), torch::optim::SGDOptions(0.3).momentum(0.5));
  for (int epoch = 1; epoch <= 10; ++epoch) {
    double total = 0;
    int64_t batches = 0;
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      const auto loss = torch::mse_loss(line(batch.data).squeeze(1), batch.target);
      loss.backward();
      optimizer.step();
      total += loss.item<double>();
      ++batches;
    }
    if (epoch % 3 == 1)
      std::printf("epoch %d: %.6f of %d batches\n", epoch, total / batches, static_cast<int>(batches));
  }
  std::cout << line->weight << '\n' << line->bias << '\n';
  return 0;
}
