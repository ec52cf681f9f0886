// Trains a classifier of three spirals with the Trainer. The two first arguments choose how it is trained; the results
// stay nearly the same.
// usage: trainer [STRATEGY [DEVICES [FOLDER]]]
//   STRATEGY: single, dp, dp_loss or ddp; DEVICES: their number; FOLDER: folder for checkpoints and TensorBoard's files
#include <tandem/tandem.h>
#include <tandem/train/train.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace tandem;

struct Net : train::TrainingModule<Net> {
  Net() { reset(); }
  void reset() override {
    layers = register_module("layers", nn::Sequential(nn::Linear(2, 64), nn::ReLU(), nn::Dropout(0.1),
                                                      nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 3)));
  }
  Tensor forward(const data::Example<>& batch) override { return layers(batch.data); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    return cross_entropy(output, batch.target);
  }
  void validation_step(const data::Example<>& batch) override {
    const Tensor output = forward(batch);
    log("val_loss", loss(output, batch));
    log("val_accuracy", (output.argmax(1) == batch.target).to(kFloat32).mean());
  }
  train::Optimizers configure_optimizers() override {
    auto adam = std::make_unique<optim::Adam>(parameters(), optim::AdamOptions(1e-2));
    auto halving = std::make_shared<optim::StepLR>(*adam, /*step_size=*/10, /*gamma=*/0.5);
    return train::Optimizers(std::move(adam)).schedule(halving, "epoch");
  }
  nn::Sequential layers{nullptr};
};

/// Returns points on three arms of a spiral, with their arm as the class.
data::datasets::TensorPairDataset spirals(int64_t count) {
  const Tensor arm = randint(0, 3, {count}, kInt64), radius = rand({count}).sqrt();
  const Tensor angle = arm.to(kFloat32) * 2.0944 + radius * 5 + randn({count}) * 0.15;
  return {stack({radius * angle.cos(), radius * angle.sin()}, 1), arm};
}

int main(int argc, char** argv) try {
  const std::string strategy = argc > 1 ? argv[1] : "single", folder = argc > 3 ? argv[3] : "runs/trainer";
  const int devices = argc > 2 ? std::atoi(argv[2]) : 1;
  manual_seed(1);
  const auto training = train::DataSource(spirals(2000)).batch_size(64).shuffle(true).workers(1);
  const auto validation = train::DataSource(spirals(500)).batch_size(250);
  Net net;
  auto early = std::make_shared<train::EarlyStopping>(train::EarlyStoppingOptions().monitor("val_loss").patience(5));
  auto best = std::make_shared<train::ModelCheckpoint>(train::ModelCheckpointOptions().monitor("val_loss"));
  train::Trainer trainer(train::TrainerOptions()
                             .strategy(strategy)
                             .devices(devices)
                             .max_epochs(30)
                             .default_root_dir(folder)
                             .ckpt_path("last")
                             .callback(early)
                             .callback(best)
                             .tensorboard(folder));
  trainer.fit(net, training, validation);
  if (distributed::get_rank() != 0) return 0;
  std::cout << train::summary(net, data::Example<>(zeros({1, 2}), zeros({1}, kInt64)));
  std::printf("%s: %.1f %% right after %lld epochs; best val_loss %.6f in %s\n", strategy.c_str(),
              100 * trainer.metrics().at("val_accuracy"), static_cast<long long>(trainer.current_epoch()),
              best->best_model_score().value_or(0), best->best_model_path().c_str());
  std::printf("peak memory in KiB:");
  for (int i = 0; i < devices; ++i)
    std::printf(" %.0f", static_cast<double>(memory_stats(Device(net.parameters()[0].device().type(), i)).peak) / 1024);
  std::printf("\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "trainer: %s\n", error.what());
  return 1;
}
