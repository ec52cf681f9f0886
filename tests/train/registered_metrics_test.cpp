// Tests the metrics that a module registers: the Trainer computes them over all batches and ranks of a validation.
#include "tandem/tests/catch.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::quiet;

namespace {

/// Predicts classes, and measures them. kInConstructor: the constructor registers the metrics, which copies then lack.
template <bool kInConstructor> struct Measured : train::TrainingModule<Measured<kInConstructor>> {
  Measured() {
    reset();
    if (kInConstructor) register_all();
  }
  void reset() override {
    layer = this->register_module("layer", nn::Linear(5, 3));
    if (!kInConstructor) register_all();
  }
  void register_all() {
    this->register_metric("val_accuracy", accuracy);
    this->register_metric("val_confusion", confusion);
  }
  Tensor forward(const data::Example<>& batch) override { return layer(batch.data); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    return cross_entropy(output, batch.target);
  }
  void validation_step(const data::Example<>& batch) override {
    const Tensor output = forward(batch);
    accuracy.update(output, batch.target);
    confusion.update(output, batch.target);
  }
  train::Optimizers configure_optimizers() override {
    return std::make_unique<optim::SGD>(this->parameters(), optim::SGDOptions(0.1));
  }
  nn::Linear layer{nullptr};
  metrics::Accuracy accuracy{metrics::AccuracyOptions("multiclass").num_classes(3).average("micro")};
  metrics::ConfusionMatrix confusion{metrics::ConfusionMatrixOptions("multiclass").num_classes(3)};
};

}  // namespace

TEST_CASE("registered metrics are computed over all batches and ranks of the last validation", "[train]") {
  const auto training = test::classes(24), validation = test::classes(13);
  for (const auto& [strategy, devices] :
       std::vector<std::pair<std::string, int>>{{"single", 1}, {"dp_loss", 2}, {"ddp_local", 2}, {"ddp_local", 3}}) {
    INFO(strategy << " over " << devices);
    manual_seed(5);
    Measured<false> net;
    train::Trainer trainer(quiet(strategy, devices).max_epochs(2));
    // The last batch has one row, so that ranks have none.
    trainer.fit(net, train::DataSource(training).batch_size(8), train::DataSource(validation).batch_size(4));

    const NoGradGuard no_grad;
    const Tensor predicted = net.layer(validation.data).argmax(1);
    Tensor counts = zeros({3, 3}, kInt64);
    for (int64_t i = 0; i < 13; ++i)
      counts.index_put_({validation.target[i], predicted[i]}, tensor(1), /*accumulate=*/true);
    CHECK(trainer.metric_values().at("val_confusion").equal(counts));
    const double right = static_cast<double>((predicted == validation.target).sum().item<int64_t>());
    CHECK(trainer.metrics().at("val_accuracy") == Approx(right / 13).epsilon(1e-12));
    CHECK(!trainer.metrics().contains("val_confusion"));  // a matrix is no number
  }
}

TEST_CASE("a rank that trains alone does not wait for its process group to compute metrics", "[train]") {
  double accuracy = -1;
  distributed::run_ranks(2, [&](int rank) {
    distributed::init_process_group("local");
    if (rank == 0) {
      Measured<false> net;
      train::Trainer trainer(quiet().max_epochs(1));
      const train::DataSource source = train::DataSource(test::classes(8)).batch_size(4);
      trainer.fit(net, source, source);
      accuracy = trainer.metrics().at("val_accuracy");
    }
    distributed::barrier();  // would meet the metric's all-reduce, and fail
  });
  CHECK(accuracy >= 0);
}

TEST_CASE("ranks that have registered different metrics get an error that says where to register them", "[train]") {
  Measured<true> net;
  train::Trainer trainer(quiet("ddp_local", 2).max_epochs(1));
  const train::DataSource source = train::DataSource(test::classes(8)).batch_size(4);
  CHECK_THROWS_WITH(trainer.fit(net, source, source),
                    Contains("rank 0 has registered the metrics {val_accuracy, val_confusion}, and rank 1 {}") &&
                        Contains("call register_metric in reset()"));
}
