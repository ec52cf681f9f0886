#include "tandem/benchmarks/benchmark.h"

#include <memory>
#include <numeric>

#include "tandem/autograd/engine.h"
#include "tandem/core/loop/graph.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/randint.h"

namespace tandem::benchmarks {

std::string shapes_to_string(const Shapes& shapes) {
  std::string text;
  for (const auto& sizes : shapes) {
    if (!text.empty()) text += ',';
    for (size_t i = 0; i < sizes.size(); ++i) text += (i ? "x" : "") + std::to_string(sizes[i]);
    if (sizes.empty()) text += '1';
  }
  return text;
}
double numel(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                         [](double product, int64_t size) { return product * static_cast<double>(size); });
}

std::vector<Benchmark> all_benchmarks() {
  std::vector<Benchmark> all;
  for (const auto& table : {training_benchmarks, overhead_benchmarks, elementwise_benchmarks, inplace_benchmarks,
                            reduce_benchmarks, loss_benchmarks, matmul_benchmarks, bfloat16_benchmarks,
                            layer_benchmarks, index_benchmarks, view_benchmarks, fill_benchmarks, optim_benchmarks})
    for (Benchmark& entry : table()) all.push_back(std::move(entry));
  return all;
}

namespace {
Device benchmark_device = kCPU;
}
Device device() { return benchmark_device; }
void set_device(Device device) { benchmark_device = device; }
Tensor random_values(IntArrayRef sizes, bool positive) {
  return tandem::empty(sizes, device()).uniform_(positive ? 0.5 : -1, positive ? 1.5 : 1);
}
Tensor random_integers(int64_t high, IntArrayRef sizes) {
  return randint(high, sizes, TensorOptions(kInt64).device(device()));
}
Inputs make_inputs(const Shapes& shapes, bool positive) {
  Inputs inputs;
  for (const auto& sizes : shapes) inputs.push_back(random_values(sizes, positive));
  return inputs;
}
std::function<Run(const Shapes&)> prepare_forward(Op op, bool positive) {
  return [=](const Shapes& shapes) -> Run { return [op, in = make_inputs(shapes, positive)] { op(in); }; };
}
std::function<Run(const Shapes&)> prepare_graph_replay(Op op) {
  return [=](const Shapes& shapes) -> Run {
    const auto graph = std::make_shared<Graph>();
    const Inputs in = make_inputs(shapes);
    Tensor y;
    graph->capture([&] { y = op(in); });
    return [graph, in, y] { graph->replay(); };
  };
}
std::function<Run(const Shapes&)> prepare_backward(std::function<Inputs(const Shapes&)> make, Op op) {
  return [=](const Shapes& shapes) -> Run {
    const Inputs in = make(shapes);
    Inputs leaves;
    for (const Tensor& x : in)
      if (x.requires_grad()) leaves.push_back(x);
    const Tensor y = op(in), dy = random_values(y.sizes()).to(y.dtype());
    return [=] { autograd::grad({y}, leaves, {dy}, /*retain_graph=*/true); };
  };
}
std::function<Run(const Shapes&)> prepare_backward(Op op, bool positive) {
  return prepare_backward(
      [positive](const Shapes& shapes) {
        Inputs in = make_inputs(shapes, positive);
        for (Tensor& x : in) x.requires_grad_();
        return in;
      },
      std::move(op));
}

double read_one_bytes(const Shapes& s) { return 4 * numel(s[0]); }
double read_write_bytes(const Shapes& s) { return 8 * numel(s[0]); }
double read_two_write_one_bytes(const Shapes& s) { return 12 * numel(s[0]); }
double write_one_bytes(const Shapes& s) { return 4 * numel(s[0]); }
double linear_flops(const Shapes& s) { return 2 * numel(s[0]) * static_cast<double>(s[1].front()); }
double linear_backward_flops(const Shapes& s) { return 2 * linear_flops(s); }
double conv_flops(const Shapes& s) {
  const auto height = static_cast<double>(s[0][2] - s[1][2] + 1), width = static_cast<double>(s[0][3] - s[1][3] + 1);
  return 2 * static_cast<double>(s[0][0]) * height * width * numel(s[1]);
}
double conv_backward_flops(const Shapes& s) { return 2 * conv_flops(s); }

}  // namespace tandem::benchmarks
