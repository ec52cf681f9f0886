// Predicts a price from the columns of a CSV file: early stopping, the best checkpoint, R2 and the mean absolute error
// on rows that training does not see, and TensorBoard.
// usage: houses FILE.csv [FOLDER [STRATEGY [DEVICES]]]
//   FILE.csv: its columns are area, rooms, city, price; FOLDER: new, for checkpoints and TensorBoard's files
#include <tandem/tandem.h>
#include <tandem/train/train.h>

#include <cstdio>
#include <cstdlib>

using namespace tandem;

struct Net : train::TrainingModule<Net> {
  explicit Net(int64_t features) : features(features) { reset(); }
  void reset() override {
    layers = register_module("layers", nn::Sequential(nn::Linear(features, 32), nn::ReLU(), nn::Linear(32, 1)));
    register_metric("val_r2", r2);
    register_metric("val_error", error);
  }
  Tensor forward(const data::Example<>& batch) override { return layers(batch.data).squeeze(1); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override { return mse_loss(output, batch.target); }
  void validation_step(const data::Example<>& batch) override {
    const Tensor output = forward(batch);
    log("val_loss", loss(output, batch));
    r2.update(output, batch.target);
    error.update(output, batch.target);
  }
  train::Optimizers configure_optimizers() override { return std::make_unique<optim::AdamW>(parameters(), 1e-2); }
  int64_t features;
  nn::Sequential layers{nullptr};
  metrics::R2Score r2;
  metrics::MeanAbsoluteError error;
};

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 1, "usage: houses FILE.csv [FOLDER [STRATEGY [DEVICES]]]");
  const std::string folder = argc > 2 ? argv[2] : "runs/houses";
  const data::CsvColumn area = data::CsvColumn("area").missing(data::MissingValue::mean),
                        city = data::CsvColumn("city").category();
  const data::CsvTable table = data::read_csv(argv[1], data::CsvOptions().columns({area, "rooms", city, "price"}));
  const auto standardize = [](const Tensor& x) { return (x - x.mean(0)) / x.std(0); };
  const Tensor inputs = cat({standardize(table.numbers({"area", "rooms"})), one_hot(table.categories("city"))}, 1);
  const data::datasets::TensorPairDataset houses(inputs, standardize(table.number("price")));
  auto parts = data::random_split(houses, {0.8, 0.2}, /*seed=*/1);
  manual_seed(1);
  Net net(inputs.size(1));
  auto best = std::make_shared<train::ModelCheckpoint>(train::ModelCheckpointOptions().monitor("val_loss"));
  train::TrainerOptions options;
  options.strategy(argc > 3 ? argv[3] : "single").devices(argc > 4 ? std::atoi(argv[4]) : 1);
  options.max_epochs(50).default_root_dir(folder).tensorboard(folder).callback(best).callback(train::EarlyStopping());
  train::Trainer trainer(options);
  trainer.fit(net, train::DataSource(parts[0]).batch_size(32).shuffle(true),
              train::DataSource(parts[1]).batch_size(99));
  std::printf("%lld rows: R2 %.3f, mean error %.3f standard deviations; best checkpoint: %s\n",
              static_cast<long long>(table.size()), trainer.metrics().at("val_r2"), trainer.metrics().at("val_error"),
              best->best_model_path().c_str());
} catch (const std::exception& error) {
  return std::fprintf(stderr, "houses: %s\n", error.what()), 1;
}
