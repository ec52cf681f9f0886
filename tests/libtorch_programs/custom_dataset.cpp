// A user-defined dataset, as a LibTorch user would write it: points in a plane, classified by the ring that contains
// them.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <set>
#include <vector>

namespace F = torch::nn::functional;

class RingDataset : public torch::data::datasets::Dataset<RingDataset> {
 public:
  explicit RingDataset(size_t size) : states_(torch::empty({static_cast<int64_t>(size), 2})), size_(size) {
    labels_ = torch::zeros({static_cast<int64_t>(size)}, torch::kLong);
    auto points = states_.accessor<float, 2>();
    auto rings = labels_.accessor<int64_t, 1>();
    for (int64_t i = 0; i < static_cast<int64_t>(size); ++i) {
      const float angle = 2.399963f * i, radius = 0.5f + i % 3;
      points[i][0] = radius * std::cos(angle);
      points[i][1] = radius * std::sin(angle);
      rings[i] = i % 3;
    }
  }
  torch::data::Example<> get(size_t index) override {
    return {states_[static_cast<int64_t>(index)], labels_[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return size_; }

 private:
  torch::Tensor states_, labels_;
  size_t size_;
};

// Returns whole batches: the numbers 0, 1, 2, ... as one tensor.
class CountingDataset
    : public torch::data::datasets::BatchDataset<CountingDataset, torch::data::Example<>, torch::ArrayRef<size_t>> {
 public:
  torch::data::Example<> get_batch(torch::ArrayRef<size_t> request) override {
    std::vector<float> numbers(request.begin(), request.end());
    auto data = torch::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())}, torch::kFloat32).clone();
    return {data, data * 2};
  }
  std::optional<size_t> size() const override { return 10; }
};

// A dataset with inputs but no targets.
class SquaresDataset : public torch::data::datasets::Dataset<SquaresDataset, torch::data::TensorExample> {
 public:
  torch::data::TensorExample get(size_t index) override { return torch::tensor(static_cast<int64_t>(index * index)); }
  std::optional<size_t> size() const override { return 5; }
};

struct ClassifierImpl : torch::nn::Module {
  explicit ClassifierImpl(int64_t hidden)
      : hidden1(register_module("hidden1", torch::nn::Linear(2, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        hidden2(register_module("hidden2", torch::nn::Linear(hidden, hidden))),
        out(register_module("out", torch::nn::Linear(hidden, 3))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = F::relu(norm(hidden1(x)));
    x = F::relu(hidden2(x));
    x = F::dropout(x, F::DropoutFuncOptions().p(0.1).training(is_training()));
    return out(x);
  }
  torch::nn::Linear hidden1;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear hidden2, out;
};
TORCH_MODULE(Classifier);

void whole_batches() {
  auto loader = torch::data::make_data_loader(CountingDataset(), torch::data::samplers::SequentialSampler(10),
                                              torch::data::DataLoaderOptions().batch_size(4).drop_last(true));
  float sum = 0;
  for (auto& batch : *loader) {
    TORCH_CHECK(batch.data.size(0) == 4, "a batch of ", batch.data.sizes());
    sum += batch.target.sum().item<float>();
  }
  TORCH_CHECK(sum == 56, "the targets sum to ", sum);

  auto squares = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      SquaresDataset().map(torch::data::transforms::Stack<torch::data::TensorExample>()), /*batch_size=*/5);
  for (torch::data::TensorExample& batch : *squares)
    TORCH_CHECK(batch.data.equal(torch::tensor({0, 1, 4, 9, 16}, torch::kInt64)), batch.data);
}

int main() {
  torch::manual_seed(3);
  whole_batches();

  auto dataset = RingDataset(600)
                     .map(torch::data::transforms::Lambda<torch::data::Example<>>([](torch::data::Example<> example) {
                       example.data = example.data / 2;
                       return example;
                     }))
                     .map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(dataset), torch::data::DataLoaderOptions().batch_size(50).workers(2));

  Classifier model(32);
  std::cout << model << std::endl;
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-2).weight_decay(1e-4));
  torch::optim::StepLR schedule(optimizer, /*step_size=*/4, /*gamma=*/0.5);
  float last = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    int64_t correct = 0, seen = 0;
    for (torch::data::Example<>& batch : *loader) {
      model->zero_grad();
      auto logits = model->forward(batch.data);
      auto loss = F::cross_entropy(logits, batch.target, F::CrossEntropyFuncOptions().reduction(torch::kMean));
      loss.backward();
      optimizer.step();
      correct += std::get<1>(logits.max(/*dim=*/1)).eq(batch.target).sum().item<int64_t>();
      seen += batch.target.numel();
    }
    schedule.step();
    TORCH_CHECK(seen == 600, "an epoch had ", seen, " examples");
    last = static_cast<float>(correct) / seen;
    std::cout << "epoch " << epoch << ": accuracy " << last << std::endl;
  }
  TORCH_CHECK(last > 0.95, "the last epoch's accuracy is ", last);
}
