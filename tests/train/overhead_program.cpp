// overhead_program loop|trainer STEPS: makes training steps of an MLP at batch 64, by a loop written by hand or by the
// Trainer, for overhead.sh, which counts their instructions.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tandem/tandem.h"
#include "tandem/train/train.h"

using namespace tandem;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int64_t epochs = std::atoll(argv[2]) / 10;  // of ten steps
  set_num_threads(1);
  manual_seed(1);
  const data::datasets::TensorPairDataset dataset(rand({640, 784}), randint(0, 10, {640}, kInt64));
  nn::Sequential net(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
  if (std::strcmp(argv[1], "trainer") == 0) {
    train::Trainer trainer(
        train::TrainerOptions().accelerator("cpu").max_epochs(epochs).enable_progress_bar(false).seed(1));
    const auto make = [](std::vector<Tensor> p) { return std::make_unique<optim::Adam>(p, optim::AdamOptions(1e-3)); };
    trainer.fit(train::make_training_module(net, nn::CrossEntropyLoss(), make),
                train::DataSource(dataset).batch_size(64).shuffle(true));
    std::printf("mean loss %.6f\n", trainer.metrics().at("train_loss_epoch"));
    return 0;
  }
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const data::samplers::ShardSampler sampler(640, 1, 0, {.shuffle = true, .seed = 1});
  auto loader =
      data::make_data_loader(data::datasets::TensorPairDataset(dataset).map(data::transforms::Stack<>()), sampler, 64);
  nn::CrossEntropyLoss loss_fn;
  double total = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    loader->sampler().set_epoch(static_cast<size_t>(epoch));
    total = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const Tensor loss = loss_fn(net(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      total += loss.item<double>();
    }
  }
  std::printf("mean loss %.6f\n", total / 10);
}
