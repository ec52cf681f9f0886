// Tests the Trainer on GPUs: moves of batches, values that are read late, and mixed precision.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using test::classes;
using test::copy_state;
using test::quiet;

namespace {

struct Trained {
  std::vector<Tensor> state;
  std::map<std::string, double> metrics;
};
template <class Loss>
Trained train_on_gpus(const Loss& loss, const std::string& strategy, int devices, int64_t batch_size,
                      int64_t accumulate, const std::string& precision = "32") {
  nn::Sequential net = test::plain_net();
  const auto source = train::DataSource(classes(48)).batch_size(batch_size).shuffle(true).workers(1);
  train::Trainer trainer(quiet(strategy, devices)
                             .accelerator("gpu")
                             .accumulate_grad_batches(accumulate)
                             .precision(precision)
                             .gradient_clip_val(1)
                             .log_every_n_steps(2)
                             .max_epochs(2));
  trainer.fit(train::make_training_module(net, loss, test::sgd()), source, source);
  CHECK(net->parameters()[0].is_cuda());
  net->to(kCPU);
  return {copy_state(*net), trainer.metrics()};
}

}  // namespace

TEST_CASE("all strategies give the same bits on GPUs for equal batches", "[train][cuda]") {
  if (cuda::device_count() < 2) {
    WARN("SKIPPED: needs two GPUs");
    return;
  }
  // With class weights, a batch's weight depends on its targets, which the Trainer reads on the CPU.
  const nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().weight(tensor({0.5f, 1.5f, 1.0f})));
  const Trained single = train_on_gpus(loss, "single", 1, 8, 2);
  std::vector<std::string> strategies = {"dp", "dp_loss", "ddp_local"};
  if (test::fake_nccl()) strategies.push_back("ddp_nccl");
  for (const std::string& strategy : strategies) {
    INFO(strategy);
    const Trained other = train_on_gpus(loss, strategy, 2, 16, 1);
    // Gradients of cuBLAS's products are equal only for equal shapes, as they are here.
    CHECK(test::is_same_state(other.state, single.state));
    CHECK(other.metrics.at("train_loss_epoch") == Approx(single.metrics.at("train_loss_epoch")).epsilon(1e-6));
    CHECK(other.metrics.at("val_loss") == Approx(single.metrics.at("val_loss")).epsilon(1e-6));
  }
}

TEST_CASE("mixed precision trains on a GPU", "[train][cuda]") {
  if (cuda::device_count() < 1) {
    WARN("SKIPPED: needs a GPU");
    return;
  }
  // The weight of this loss is the number of rows, so workers move batches to the GPU.
  const auto loss = [](const Tensor& output, const Tensor& target) { return cross_entropy(output, target); };
  const Trained full = train_on_gpus(loss, "single", 1, 16, 1);
  for (const std::string precision : {"16-mixed", "bf16-mixed"}) {
    const Trained mixed = train_on_gpus(loss, "single", 1, 16, 1, precision);
    // 0.05: products of half types, after six steps.
    CHECK(mixed.metrics.at("val_loss") == Approx(full.metrics.at("val_loss")).epsilon(0.05));
    CHECK_FALSE(test::is_same_state(mixed.state, full.state));
  }
}
