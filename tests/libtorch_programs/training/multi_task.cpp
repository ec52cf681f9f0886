// A shared trunk with several heads in a ModuleDict, learned task weights, and accumulated gradients.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

/// Converts a module to float64 and sets its parameters to fixed values; the wider a layer, the smaller the values.
void known(torch::nn::Module& module, double scale = 1) {
  module.to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.5;
  for (auto& parameter : module.parameters()) {
    const double fan = parameter.dim() > 1 ? static_cast<double>(parameter.numel() / parameter.size(0)) : 4;
    parameter.copy_(wave(parameter.sizes(), step += 0.11) * scale / std::sqrt(fan));
  }
}

struct MultiTaskImpl : torch::nn::Module {
  MultiTaskImpl(int64_t in, int64_t hidden, const std::map<std::string, int64_t>& tasks) {
    trunk = register_module("trunk", torch::nn::Sequential(torch::nn::Linear(in, hidden), torch::nn::GELU(),
                                                           torch::nn::Linear(hidden, hidden), torch::nn::Tanh()));
    register_module("heads", heads);
    register_module("log_sigmas", log_sigmas);
    for (const auto& [name, size] : tasks) {
      torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>> head;
      head.insert(name, torch::nn::Linear(hidden, size).ptr());
      heads->update(head);
      log_sigmas->insert(name, torch::zeros({}, torch::requires_grad()));
    }
  }
  std::map<std::string, torch::Tensor> forward(const torch::Tensor& x) {
    const auto h = trunk->forward(x);
    std::map<std::string, torch::Tensor> out;
    for (const auto& item : heads->items()) out[item.first] = item.second->as<torch::nn::Linear>()->forward(h);
    return out;
  }
  torch::nn::Sequential trunk{nullptr};
  torch::nn::ModuleDict heads;
  torch::nn::ParameterDict log_sigmas;
};
TORCH_MODULE(MultiTask);

int main() {
  MultiTask model(3, 6, std::map<std::string, int64_t>{{"angle", 1}, {"class", 3}, {"tags", 2}});
  known(*model);
  for (const auto& parameter : model->named_parameters())
    std::cout << parameter.key() << ' ' << parameter->sizes() << '\n';
  for (const auto& module : model->named_modules("model")) std::cout << module.key() << ' ';
  std::cout << '\n' << model->heads->contains("class") << model->heads->size() << '\n';
  const auto x = wave({12, 3}, 0.37);
  const auto angle = (x.sum(1, /*keepdim=*/true)).sin();
  const auto classes = x.argmax(1);
  const auto tags = (x.slice(1, 0, 2) > 0).to(torch::kFloat64);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(0.02));
  constexpr int64_t kParts = 3, kPart = 4;
  for (int step = 0; step < 24; ++step) {
    optimizer.zero_grad();
    std::map<std::string, double> totals;
    for (int64_t part = 0; part < kParts; ++part) {
      const auto rows = torch::indexing::Slice(part * kPart, (part + 1) * kPart);
      auto out = model->forward(x.index({rows}));
      std::map<std::string, torch::Tensor> losses;
      losses["angle"] = torch::mse_loss(out["angle"], angle.index({rows}));
      losses["class"] = torch::nn::functional::cross_entropy(out["class"], classes.index({rows}));
      losses["tags"] = torch::nn::functional::multilabel_soft_margin_loss(out["tags"], tags.index({rows}));
      torch::Tensor loss = torch::zeros({}, torch::kFloat64);
      for (auto& [name, value] : losses) {
        const auto& log_sigma = model->log_sigmas[name];
        loss = loss + torch::exp(-log_sigma) * value + log_sigma / 2;
        totals[name] += value.item<double>() / kParts;
      }
      (loss / kParts).backward();
    }
    torch::nn::utils::clip_grad_value_(model->parameters(), 0.5);
    optimizer.step();
    if (step % 6 == 0) {
      std::printf("step %d", step);
      for (const auto& [name, value] : totals) std::printf(" %s %.6f", name.c_str(), value);
      std::printf("\n");
    }
  }
  for (const auto& key : model->log_sigmas->keys())
    std::printf("%s %.6f\n", key.c_str(), model->log_sigmas[key].item<double>());
  torch::NoGradGuard guard;
  auto out = model->forward(x.slice(0, 0, 3));
  std::cout << out["angle"] << '\n' << out["class"].argmax(1) << '\n' << out["tags"].sigmoid() << '\n';
  std::cout << *model->heads << '\n';
  return 0;
}
