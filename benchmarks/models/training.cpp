// Training steps of whole models: zero_grad, forward, loss, backward, the optimizer's step, and the loss read as a
// number.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/models/models.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/loss.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/sgd.h"

namespace tandem::benchmarks {
namespace {

using Loss = Tensor (*)(const Tensor& output, const Tensor& target);
Tensor entropy(const Tensor& output, const Tensor& target) { return cross_entropy(output, target); }
Tensor likelihood(const Tensor& output, const Tensor& target) { return nll_loss(output, target); }
Tensor squares(const Tensor& output, const Tensor& target) { return mse_loss(output, target); }

template <class Optimizer, class Module, class Options>
Run training_step(Module module, Options options, const Tensor& x, const Tensor& target, Loss loss) {
  module->to(device());
  const auto optimizer = std::make_shared<Optimizer>(module->parameters(), options);
  return [=]() mutable {
    optimizer->zero_grad();
    const Tensor value = loss(module->forward(x), target);
    value.backward();
    optimizer->step();
    value.template item<float>();
  };
}
Tensor classes(const Shapes& s) { return integers(10, {s[0][0]}); }

}  // namespace

std::vector<Benchmark> training_benchmarks() {
  const std::vector<Shapes> images = {{{64, 1, 28, 28}}, {{128, 1, 28, 28}}};
  return {
      {.name = "simple_model/train_step",
       .cases = {{{64, 10}}, {{128, 10}}},
       .prepare =
           [](const Shapes& s) {
             return training_step<optim::Adam>(nn::Linear(10, 1), optim::AdamOptions(1e-3), values(s[0]),
                                               values({s[0][0], 1}), squares);
           }},
      {.name = "mlp/train_step",
       .cases = {{{64, 784}}, {{128, 784}}},
       .prepare =
           [](const Shapes& s) {
             return training_step<optim::SGD>(models::Mlp(), optim::SGDOptions(0.01).momentum(0.9), values(s[0]),
                                              classes(s), entropy);
           }},
      {.name = "lenet/train_step",
       .cases = images,
       .prepare =
           [](const Shapes& s) {
             return training_step<optim::SGD>(models::Lenet(), optim::SGDOptions(0.01).momentum(0.5), values(s[0]),
                                              classes(s), likelihood);
           }},
      {.name = "fashion_cnn/train_step",
       .cases = images,
       .prepare =
           [](const Shapes& s) {
             return training_step<optim::Adam>(models::FashionCnn(), optim::AdamOptions(1e-3), values(s[0]), classes(s),
                                               entropy);
           }},
  };
}

}  // namespace tandem::benchmarks
