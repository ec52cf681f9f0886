// Structure of modules: names, types, copies, apply, dtypes and modes.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

struct BlockImpl : torch::nn::Cloneable<BlockImpl> {
  explicit BlockImpl(int64_t size, bool biased = true) : size(size), biased(biased) { reset(); }
  void reset() override {
    fc = register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(size, size).bias(biased)));
    drop = register_module("drop", torch::nn::Dropout(0.25));
    gain = register_parameter("gain", torch::full({size}, 0.5));
    fixed = register_parameter("fixed", torch::ones({2}), /*requires_grad=*/false);
    seen = register_buffer("seen", torch::zeros({1}));
  }
  void pretty_print(std::ostream& stream) const override {
    stream << "Block(size=" << size << ", biased=" << std::boolalpha << biased << std::noboolalpha << ")";
  }
  torch::Tensor forward(torch::Tensor x) {
    seen += x.size(0);
    return x + gain * drop(torch::relu(fc(x)));
  }
  int64_t size;
  bool biased;
  torch::nn::Linear fc{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::Tensor gain, fixed, seen;
};
TORCH_MODULE(Block);

struct NetImpl : torch::nn::Module {
  NetImpl() : torch::nn::Module("net") {
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (int i = 0; i < 2; ++i) blocks->push_back(Block(3, i == 0));
    scales = register_module("scales", torch::nn::ParameterList(torch::ones({3}), torch::full({1}, 2.0)));
    tail = register_module("tail", torch::nn::AnyModule(torch::nn::Linear(3, 2)).ptr());
    table = torch::nn::AnyModule(torch::nn::Embedding(4, 3));
    register_module("table", table.ptr());
  }
  torch::Tensor forward(const torch::Tensor& ids) {
    auto x = table.forward(ids);
    for (auto& block : *blocks) x = block->as<Block>()->forward(x);
    return tail->as<torch::nn::LinearImpl>()->forward(x * scales[0] * scales[1]);
  }
  torch::nn::ModuleList blocks{nullptr};
  torch::nn::ParameterList scales{nullptr};
  std::shared_ptr<torch::nn::Module> tail;
  torch::nn::AnyModule table;
};
TORCH_MODULE(Net);

void init(torch::nn::Module& module) {
  torch::NoGradGuard guard;
  if (auto* linear = module.as<torch::nn::Linear>()) {
    linear->weight.copy_(torch::arange(linear->weight.numel()).view_as(linear->weight).sin());
    if (linear->bias.defined()) torch::nn::init::zeros_(linear->bias);
  } else if (auto* embedding = module.as<torch::nn::EmbeddingImpl>()) {
    embedding->weight.copy_(torch::linspace(-1, 1, embedding->weight.numel()).view_as(embedding->weight));
  }
}

int main() {
  Net net;
  net->apply(init);
  std::cout << net->name() << '\n' << *net->blocks << '\n' << *net->scales << std::noboolalpha << '\n';
  for (const auto& item : net->named_parameters())
    std::cout << item.key() << ' ' << item->sizes() << item->requires_grad() << ' ';
  std::cout << '\n';
  for (const auto& item : net->named_buffers()) std::cout << item.key() << ' ';
  std::cout << '\n'
            << net->named_parameters(/*recurse=*/false).size() << ' ' << net->modules().size() << ' '
            << net->children().size();
  std::cout << ' ' << net->named_modules(std::string(), /*include_self=*/false).size() << '\n';
  size_t layers = 0;
  net->apply([&](const std::shared_ptr<torch::nn::Module>& module) { layers += module->children().empty(); });
  std::as_const(*net).apply([&](const torch::nn::Module& module) { layers += 100 * module.parameters(false).size(); });
  std::cout << layers << '\n';
  for (const auto& item : net->named_children()) std::cout << item.key() << '\n';
  net->apply(
      [](const std::string& name, torch::nn::Module& module) {
        std::cout << (name.empty() ? "." : name) << (module.is_training() ? '+' : '-') << ' ';
      },
      "net");
  std::cout << '\n';

  const auto ids = torch::tensor({0, 3, 1});
  net->eval();
  std::cout << net(ids) << '\n' << net->blocks[1]->as<Block>()->seen << '\n';
  std::cout << net->is_training() << net->blocks[0]->as<Block>()->drop->is_training() << '\n';
  net->blocks[0]->train();
  std::cout << net->is_training() << net->blocks[0]->as<Block>()->drop->is_training() << '\n';

  Block block(2);
  block->apply(init);
  auto copy = std::dynamic_pointer_cast<BlockImpl>(block->clone());
  {
    torch::NoGradGuard guard;
    copy->gain.add_(1);
  }
  copy->eval();
  std::cout << *copy << std::noboolalpha << ' ' << block->gain.sum().item<float>() << ' '
            << copy->gain.sum().item<float>() << ' ' << copy->is_training() << block->is_training()
            << copy->fixed.requires_grad() << '\n';
  copy->to(torch::kFloat64);
  std::cout << (copy->fc->weight.scalar_type() == torch::kDouble) << (copy->seen.scalar_type() == torch::kDouble)
            << '\n';
  copy->forward(torch::ones({3, 2}, torch::kFloat64)).sum().backward();
  std::cout << copy->gain.grad() << '\n' << copy->fixed.grad().defined() << '\n';
  copy->zero_grad();
  std::cout << copy->gain.grad().defined() << copy->seen.item<double>() << '\n';

  torch::nn::Sequential sequential(torch::nn::Linear(2, 2), torch::nn::Functional(torch::relu));
  sequential->push_back("last", torch::nn::Linear(2, 1));
  torch::nn::Sequential extended;
  extended->extend(*sequential);
  std::cout << sequential->size() << extended->size() << '\n';
  for (const auto& item : sequential->named_children()) std::cout << item.key() << ' ' << item.value()->name() << '\n';
  try {
    net->register_module("tail", torch::nn::Linear(1, 1));
  } catch (const c10::Error& error) {
    std::cout << "refused\n";
  }
  try {
    std::cout << net->named_parameters()["nowhere"] << '\n';
  } catch (const c10::Error& error) {
    std::cout << "refused\n";
  }
  block->unregister_module("drop");
  std::cout << block->children().size() << '\n';
  return 0;
}
