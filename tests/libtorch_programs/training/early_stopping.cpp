// Training stops when the validation loss no longer improves, and the best weights are restored from a stream.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>

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

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t in, int64_t hidden) {
    first = register_module("first", torch::nn::Linear(in, hidden));
    second = register_module("second", torch::nn::Linear(hidden, 1));
    scale = register_buffer("scale", torch::full({1}, 2.0));
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::tanh(first(x))) * scale; }
  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::Tensor scale;
};
TORCH_MODULE(Net);

class EarlyStopping {
 public:
  EarlyStopping(int patience, double delta) : patience_(patience), delta_(delta) {}
  template <class Module> bool stop(double loss, Module& model) {
    if (loss < best_ - delta_) {
      best_ = loss;
      waited_ = 0;
      saved_.str("");
      torch::save(model, saved_);
    } else {
      ++waited_;
    }
    return waited_ >= patience_;
  }
  template <class Module> void restore(Module& model) {
    saved_.seekg(0);
    torch::load(model, saved_);
  }
  double best() const { return best_; }

 private:
  int patience_, waited_ = 0;
  double delta_, best_ = std::numeric_limits<double>::infinity();
  std::stringstream saved_;
};

int main() {
  const auto x = torch::linspace(-3, 3, 24, torch::kFloat64).unsqueeze(1);
  const auto noise = 0.3 * (17 * x).sin();
  const auto y = x.sin() + noise;
  const auto held = torch::linspace(-2.9, 2.9, 15, torch::kFloat64).unsqueeze(1);
  Net model(1, 24);
  known(*model, 2);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.03));
  EarlyStopping early(5, 1e-4);
  int epoch = 0;
  for (; epoch < 200; ++epoch) {
    model->train();
    optimizer.zero_grad();
    const auto loss = torch::mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    model->eval();
    torch::NoGradGuard guard;
    const double validation = torch::mse_loss(model(held), held.sin()).item<double>();
    if (epoch % 10 == 0) std::printf("%d: %.5f %.5f\n", epoch, loss.item<double>(), validation);
    if (early.stop(validation, model)) break;
  }
  torch::NoGradGuard guard;
  std::printf("stopped at %d, best %.5f, now %.5f\n", epoch, early.best(),
              torch::mse_loss(model(held), held.sin()).item<double>());
  early.restore(model);
  std::printf("restored %.5f\n", torch::mse_loss(model(held), held.sin()).item<double>());
  std::cout << model->scale << '\n' << model->first->bias.slice(0, 0, 5) << '\n';

  Net other(1, 24);
  other->to(torch::kFloat64);
  early.restore(other);
  std::cout << other->first->weight.requires_grad() << torch::equal(other->first->weight, model->first->weight)
            << other->is_training() << '\n';
  return 0;
}
