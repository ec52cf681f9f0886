// Saves and loads modules, optimizers, tensors and user-defined values. Training then continues as if it had not been
// interrupted.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <sstream>
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

torch::nn::Sequential network() {
  torch::nn::Sequential net(torch::nn::Linear(3, 6), torch::nn::BatchNorm1d(6), torch::nn::ReLU(),
                            torch::nn::Linear(6, 2));
  known(*net);
  return net;
}

double step(torch::nn::Sequential& net, torch::optim::Optimizer& optimizer, int i) {
  const auto x = wave({5, 3}, 0.4 + 0.1 * i);
  optimizer.zero_grad();
  const auto loss = torch::nn::functional::cross_entropy(net->forward(x), torch::arange(5).remainder(2));
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

template <class Optimizer, class Options> void resume(const char* name, const Options& options) {
  auto net = network();
  Optimizer optimizer(net->parameters(), options);
  for (int i = 0; i < 4; ++i) step(net, optimizer, i);
  std::stringstream weights, state;
  torch::save(net, weights);
  torch::save(optimizer, state);
  std::printf("%s:", name);
  for (int i = 4; i < 7; ++i) std::printf(" %.6f", step(net, optimizer, i));

  auto again = network();
  Optimizer resumed(again->parameters(), Options(0.5));
  torch::load(again, weights);
  torch::load(resumed, state);
  std::printf(" again");
  for (int i = 4; i < 7; ++i) std::printf(" %.6f", step(again, resumed, i));
  std::printf(" lr %.3f\n", resumed.param_groups()[0].options().get_lr());
}

void tensors() {
  std::stringstream one, many;
  torch::save(wave({2, 3}), one);
  torch::save(std::vector<torch::Tensor>{torch::arange(4), torch::tensor({true, false}), wave({2}).to(torch::kHalf),
                                         torch::tensor(2.5)},
              many);
  torch::Tensor tensor;
  std::vector<torch::Tensor> list;
  torch::load(tensor, one);
  torch::load(list, many);
  std::cout << tensor << '\n' << list << '\n';
}

void archives() {
  std::stringstream stream;
  {
    torch::serialize::OutputArchive archive, inner;
    archive.write("epoch", torch::tensor(int64_t{12}));
    archive.write("steps", torch::IValue(int64_t{340}));
    archive.write("name", torch::IValue(std::string("small")));
    archive.write("best", torch::IValue(0.25));
    inner.write("mean", wave({3}), /*is_buffer=*/true);
    archive.write("statistics", inner);
    network()->save(archive);
    archive.save_to(stream);
  }
  torch::serialize::InputArchive archive, inner;
  archive.load_from(stream);
  torch::Tensor epoch, mean, absent;
  c10::IValue steps, name, best;
  archive.read("epoch", epoch);
  archive.read("steps", steps);
  archive.read("name", name);
  archive.read("best", best);
  archive.read("statistics", inner);
  inner.read("mean", mean, /*is_buffer=*/true);
  std::cout << epoch.item<int64_t>() << ' ' << steps.toInt() << ' ' << name.toStringRef() << ' ' << best.toDouble()
            << '\n'
            << mean << '\n'
            << archive.try_read("absent", absent) << inner.try_read("mean", absent, true) << '\n';
  auto net = network();
  torch::NoGradGuard guard;
  net->parameters()[0].zero_();
  net->load(archive);
  std::cout << net->parameters()[0] << '\n';
}

int main() {
  resume<torch::optim::SGD>("sgd", torch::optim::SGDOptions(0.1).momentum(0.9));
  resume<torch::optim::Adam>("adam", torch::optim::AdamOptions(0.02).amsgrad(true));
  resume<torch::optim::AdamW>("adamw", torch::optim::AdamWOptions(0.02));
  resume<torch::optim::RMSprop>("rmsprop", torch::optim::RMSpropOptions(0.01).momentum(0.5).centered(true));
  resume<torch::optim::Adagrad>("adagrad", torch::optim::AdagradOptions(0.1).lr_decay(0.1));
  tensors();
  archives();
  return 0;
}
