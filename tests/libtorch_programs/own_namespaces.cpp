// A program that adds declarations to LibTorch's namespaces, and uses them with and without using-directives.
#include <torch/torch.h>

namespace torch::nn {

struct GateImpl : Module {
  explicit GateImpl(int64_t features) { reset(features); }
  void reset(int64_t features) {
    inner = register_module("inner", Linear(LinearOptions(features, features).bias(false)));
  }
  Tensor forward(const Tensor& x) { return functional::relu(inner(x)) * x; }
  Linear inner{nullptr};
};
TORCH_MODULE(Gate);

namespace functional {
Tensor gate(const Tensor& x, const Tensor& weight) { return torch::relu(linear(x, weight)) * x; }
}  // namespace functional

}  // namespace torch::nn

namespace torch {
namespace data {
namespace datasets {
class Squares : public Dataset<Squares> {
 public:
  explicit Squares(int64_t count) : count_(count) {}
  Example<> get(size_t index) override {
    const Tensor number = torch::full({1}, static_cast<double>(index));
    return {number, number.square()};
  }
  optional<size_t> size() const override { return static_cast<size_t>(count_); }

 private:
  int64_t count_;
};
}  // namespace datasets
}  // namespace data

Tensor doubled(const Tensor& x) { return x + x; }
namespace optim {
class MySGD : public SGD {
 public:
  using SGD::SGD;
};
}  // namespace optim
}  // namespace torch

namespace at {
Tensor tripled(const Tensor& x) { return x * 3; }
}  // namespace at
namespace c10 {
inline bool is_first(const Device& device) { return !device.has_index() || device.index() == 0; }
}  // namespace c10

// Functions that LibTorch has in torch::nn::functional only, and a macro that has no effect outside of libraries.
torch::Tensor cross_entropy(const torch::Tensor& x, const torch::Tensor& target) { return (x - target).abs().sum(); }
struct TORCH_API Options {
  c10::optional<torch::Tensor> rows;
};

using namespace torch::indexing;

torch::Tensor chosen(const torch::Tensor& x, const Options& options) {
  return x.index({options.rows}) * cross_entropy(x, x + 1);
}

using namespace torch;
namespace F = torch::nn::functional;

int main() {
  torch::manual_seed(1);
  nn::Gate gate(3);
  const Tensor x = torch::randn({2, 3});
  const Tensor y = gate(x);
  if (!y.equal(F::gate(x, gate->inner->weight)) || !torch::allclose(doubled(x), at::tripled(x) - x)) return 1;
  if (!c10::is_first(x.device())) return 2;
  nn::Sequential net(nn::Gate(3), nn::Linear(3, 1));
  optim::MySGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  net->forward(x).sum().backward();
  optimizer.step();
  auto loader = data::make_data_loader(data::datasets::Squares(4).map(data::transforms::Stack<>()),
                                       data::DataLoaderOptions().batch_size(4));
  for (const auto& batch : *loader)
    if (batch.target.sum().item<float>() != 14) return 3;
  if (!torch::allclose(chosen(x, {torch::tensor({1})}), x.index({Slice(1, None)}) * 6)) return 5;
  if (!torch::allclose(chosen(x, {}), x * 6)) return 6;
  if (y.index({Slice(), 0}).sizes() != at::IntArrayRef{2}) return 4;
  std::cout << "namespaces are the program's own, too\n";
}
