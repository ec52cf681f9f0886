// Classifies images that lie in one folder for each class, with augmentation, early stopping and a confusion matrix.
// usage: image_folder IMAGES [FOLDER [STRATEGY [DEVICES]]]      IMAGES: has folders of JPEG or PNG files; FOLDER: new
#include <tandem/tandem.h>
#include <tandem/train/train.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;
using namespace tandem::data::transforms;
using Batch = data::Example<>;

struct Net : train::TrainingModule<Net> {
  explicit Net(int64_t classes)
      : classes(classes), confusion(metrics::ConfusionMatrixOptions("multiclass").num_classes(classes)) {
    reset();
  }
  void reset() override {
    layers =
        register_module("layers", nn::Sequential(nn::Conv2d(3, 16, 3), nn::BatchNorm2d(16), nn::ReLU(),
                                                 nn::MaxPool2d(2), nn::Conv2d(16, 32, 3), nn::BatchNorm2d(32),
                                                 nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(32, 64, 3), nn::ReLU(),
                                                 nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(64, classes)));
    register_metric("val_confusion", confusion);
  }
  Tensor forward(const Batch& batch) override { return layers(batch.data); }
  Tensor loss(const Tensor& output, const Batch& batch) override { return cross_entropy(output, batch.target); }
  void validation_step(const Batch& batch) override {
    const Tensor output = forward(batch);
    log("val_loss", loss(output, batch));
    confusion.update(output, batch.target);
  }
  train::Optimizers configure_optimizers() override { return std::make_unique<optim::AdamW>(parameters(), 3e-3); }
  int64_t classes;
  nn::Sequential layers{nullptr};
  metrics::ConfusionMatrix confusion;
};

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 1, "usage: image_folder IMAGES [FOLDER [STRATEGY [DEVICES]]]");
  const std::string folder = argc > 2 ? argv[2] : "runs/image_folder";
  const data::datasets::ImageFolder images(argv[1]);
  auto parts = data::random_split(images, {0.8, 0.2}, /*seed=*/1);
  const auto prepare = Compose(Resize<>(32, 32), Normalize<>({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}));
  const auto change = Compose(prepare, RandomCrop<>(RandomCropOptions(32).padding({4})), RandomHorizontalFlip<>());
  manual_seed(1);
  Net net(static_cast<int64_t>(images.classes().size()));
  train::TrainerOptions options;
  options.strategy(argc > 3 ? argv[3] : "single").devices(argc > 4 ? std::atoi(argv[4]) : 1).max_epochs(20);
  options.default_root_dir(folder).tensorboard(folder).callback(train::EarlyStopping());
  options.callback(train::ModelCheckpoint(train::ModelCheckpointOptions().monitor("val_loss")));
  train::Trainer trainer(options);
  trainer.fit(net, train::DataSource(parts[0].map(change)).batch_size(32).shuffle(true).workers(2),
              train::DataSource(parts[1].map(prepare)).batch_size(64));
  const Tensor counts = trainer.metric_values().at("val_confusion");
  std::cout << counts << '\n' << counts.trace().item<int64_t>() << " of " << counts.sum().item<int64_t>() << " right\n";
} catch (const std::exception& error) {
  std::cerr << "image_folder: " << error.what() << '\n';
  return 1;
}
