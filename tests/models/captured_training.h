// Trains a model with dropout, batch norm, clipping and a schedule, either eagerly or as a captured Graph, for tests on
// the CPU and on GPUs.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem::test {

/// A model with its loss, optimizer and input generators.
struct Training {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor(const Tensor&)> forward;
  std::function<Tensor(const Tensor&, const Tensor&)> loss;
  std::function<Tensor()> input, target;  // on the CPU, from its generator
  std::unique_ptr<optim::Optimizer> optimizer;

  template <class Model> void take(const Model& model, Device device) {
    module = model.ptr();
    module->to(device);
    module->train();
    forward = [model](const Tensor& x) { return model->forward(x); };
  }
};
inline Training make_training(const std::string& name, Device device = kCPU, int64_t batch = 8) {
  manual_seed(11);
  Training t;
  t.input = [batch] { return rand({batch, 1, 28, 28}); };
  t.target = [batch] { return randint(10, {batch}); };
  t.loss = [](const Tensor& x, const Tensor& target) { return cross_entropy(x, target); };
  if (name == "simple_model") {
    t.take(nn::Linear(10, 1), device);
    t.input = [batch] { return rand({2 * batch, 10}); };
    t.target = [batch] { return rand({2 * batch, 1}); };
    t.loss = [](const Tensor& x, const Tensor& target) { return mse_loss(x, target); };
  } else if (name == "mlp") {
    t.take(models::Mlp(), device);
    t.optimizer = std::make_unique<optim::SGD>(t.module->parameters(),
                                               optim::SGDOptions(0.05).momentum(0.9).dampening(0.1).weight_decay(1e-3));
  } else if (name == "lenet") {
    t.take(models::Lenet(), device);
    t.loss = [](const Tensor& x, const Tensor& target) { return nll_loss(x, target); };
    t.optimizer = std::make_unique<optim::AdamW>(t.module->parameters(), optim::AdamWOptions(1e-3).amsgrad(true));
  } else {
    t.take(models::FashionCnn(), device);
  }
  if (!t.optimizer) t.optimizer = std::make_unique<optim::Adam>(t.module->parameters(), optim::AdamOptions(1e-2));
  return t;
}

/// Returns the losses of `steps` steps, followed by the module's parameters and buffers.
inline std::vector<Tensor> train(const std::string& name, int steps, bool captured, Device device = kCPU,
                                 int64_t batch = 8) {
  Training t = make_training(name, device, batch);
  optim::StepLR schedule(*t.optimizer, 3, 0.5);
  Tensor x = t.input().to(device), target = t.target().to(device), loss;
  const auto step = [&] {
    t.optimizer->zero_grad();
    loss = t.loss(t.forward(x), target);
    loss.backward();
    std::vector<Tensor> gradients;
    for (const Tensor& p : t.module->parameters()) gradients.push_back(p.grad());
    nn::utils::clip_grads_with_norm_(t.module->parameters(), 0.5, nn::utils::get_total_norm(gradients));
    t.optimizer->step();
    loss = loss.detach();
  };
  step();  // the first step creates the optimizer's state, so it runs eagerly
  Graph graph;
  if (captured) graph.capture(step);
  std::vector<Tensor> out;
  for (int i = 0; i < steps; ++i) {
    x.copy_(t.input());
    target.copy_(t.target());
    captured ? graph.replay() : step();
    schedule.step();
    out.push_back(loss.clone());
  }
  for (const auto& each : t.module->state_dict()) out.push_back(each.value().detach().clone());
  return out;
}
inline void require_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i].equal(b[i]));
  }
}

}  // namespace tandem::test
