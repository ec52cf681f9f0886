// Benchmarks of a step of each optimizer on the parameters of FashionCNN's linear layers, and of clipping their
// gradients.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/nn/utils/clip_grad.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/sgd.h"

namespace tandem::benchmarks {
namespace {

std::vector<Tensor> make_parameters(const Shapes& shapes) {
  std::vector<Tensor> out;
  for (const auto& sizes : shapes) {
    out.push_back(random_values(sizes).requires_grad_());
    out.back().mutable_grad() = random_values(sizes) * 1e-3;
  }
  return out;
}
template <class Optimizer, class Options> std::function<Run(const Shapes&)> prepare_step(Options options) {
  return [options](const Shapes& shapes) -> Run {
    const auto optimizer = std::make_shared<Optimizer>(make_parameters(shapes), options);
    return [optimizer] { optimizer->step(); };
  };
}
double num_elements(const Shapes& shapes) {
  double sum = 0;
  for (const auto& sizes : shapes) sum += numel(sizes);
  return sum;
}
// 4 bytes for each access per element: reads parameter, gradient, buffer; writes parameter, buffer
double sgd_bytes(const Shapes& s) { return 20 * num_elements(s); }
// 4 bytes for each access per element: reads parameter, gradient and two moments; writes parameter and moments
double adam_bytes(const Shapes& s) { return 28 * num_elements(s); }

}  // namespace

std::vector<Benchmark> optim_benchmarks() {
  const std::vector<Shapes> fashion = {{{600, 2304}, {600}, {120, 600}, {120}, {10, 120}, {10}}};
  return {
      {.name = "sgd/step",
       .cases = fashion,
       .bytes = sgd_bytes,
       .prepare = prepare_step<optim::SGD>(optim::SGDOptions(0.01).momentum(0.9))},
      {.name = "adam/step",
       .cases = fashion,
       .bytes = adam_bytes,
       .prepare = prepare_step<optim::Adam>(optim::AdamOptions(1e-3))},
      {.name = "adamw/step",
       .cases = fashion,
       .bytes = adam_bytes,
       .prepare = prepare_step<optim::AdamW>(optim::AdamWOptions(1e-3))},
      {.name = "clip_grad_norm_/forward",
       .cases = fashion,
       .prepare = [](const Shapes& s) -> Run {
         return [p = make_parameters(s)] { nn::utils::clip_grad_norm_(p, 100.0); };
       }},
  };
}

}  // namespace tandem::benchmarks
