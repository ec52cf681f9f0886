// Normalization: batch norm in training and evaluation, group, instance, layer and local response norm.
#include <torch/torch.h>

#include <iostream>
#include <string>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

template <class M> void show(const std::string& name, M module, torch::Tensor x) {
  module->to(torch::kFloat64);
  {
    torch::NoGradGuard guard;
    double step = 0.2;
    for (auto& parameter : module->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.3) + 1);
  }
  x.set_requires_grad(true);
  const torch::Tensor y = module(x);
  (y * wave(y.sizes(), 0.4)).sum().backward();
  std::cout << "== " << name << '\n' << y.flatten().slice(0, 0, 10) << '\n';
  std::cout << x.grad().flatten().slice(0, 0, 10) << '\n';
  for (const auto& parameter : module->named_parameters())
    std::cout << parameter.key() << '\n' << parameter->grad().flatten().slice(0, 0, 6) << '\n';
  for (const auto& buffer : module->named_buffers())
    std::cout << buffer.key() << '\n' << buffer->to(torch::kFloat32) << '\n';
}

void batches() {
  nn::BatchNorm1d line(nn::BatchNorm1dOptions(3).momentum(0.3));
  show("BatchNorm1d", line, wave({4, 3}));
  show("BatchNorm1d again", line, wave({4, 3, 2}, 1.3));
  line->eval();
  line->zero_grad();
  show("BatchNorm1d in evaluation", line, wave({4, 3}, 0.9));
  line->reset_running_stats();
  std::cout << line->running_mean << '\n' << line->num_batches_tracked.item<int64_t>() << '\n';
  show("BatchNorm2d", nn::BatchNorm2d(nn::BatchNorm2dOptions(2).affine(false).eps(1e-2)), wave({3, 2, 2, 3}));
  show("cumulative average", nn::BatchNorm2d(nn::BatchNorm2dOptions(2).momentum(std::nullopt)), wave({3, 2, 2, 3}));
  show("without statistics", nn::BatchNorm3d(nn::BatchNorm3dOptions(2).track_running_stats(false)),
       wave({2, 2, 2, 2, 2}));
}

int main() {
  batches();
  show("GroupNorm", nn::GroupNorm(nn::GroupNormOptions(2, 4)), wave({2, 4, 3}));
  show("GroupNorm plain", nn::GroupNorm(nn::GroupNormOptions(1, 4).affine(false).eps(1e-3)), wave({2, 4, 3, 2}));
  show("InstanceNorm1d", nn::InstanceNorm1d(nn::InstanceNorm1dOptions(2).affine(true)), wave({2, 2, 5}));
  show("InstanceNorm2d", nn::InstanceNorm2d(nn::InstanceNorm2dOptions(2).track_running_stats(true)),
       wave({2, 2, 3, 4}));
  show("InstanceNorm3d", nn::InstanceNorm3d(nn::InstanceNorm3dOptions(1).eps(0.1)), wave({2, 1, 2, 3, 2}));
  show("LayerNorm", nn::LayerNorm(nn::LayerNormOptions({3, 4})), wave({2, 3, 4}));
  show("LayerNorm plain", nn::LayerNorm(nn::LayerNormOptions({4}).elementwise_affine(false).eps(1e-2)),
       wave({2, 3, 4}));
  show("LocalResponseNorm", nn::LocalResponseNorm(nn::LocalResponseNormOptions(3).alpha(0.3).beta(0.6).k(2)),
       wave({1, 5, 2, 2}));

  const auto x = wave({2, 3, 4});
  std::cout << F::batch_norm(x, wave({3}, 0.1) * 0.5, wave({3}).abs() + 0.5, F::BatchNormFuncOptions().training(false))
            << '\n';
  std::cout << F::layer_norm(x, F::LayerNormFuncOptions({4}).weight(wave({4})).bias(wave({4}, 0.1))) << '\n';
  std::cout << F::group_norm(x, F::GroupNormFuncOptions(3).eps(1e-4)) << '\n';
  std::cout << F::instance_norm(x, F::InstanceNormFuncOptions().use_input_stats(true)) << '\n';
  std::cout << F::local_response_norm(x, F::LocalResponseNormFuncOptions(2)) << '\n';
  std::cout << F::normalize(x, F::NormalizeFuncOptions().p(3).dim(2)) << '\n';
  std::cout << torch::batch_norm(x, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, /*cudnn_enabled=*/false) << '\n';
  return 0;
}
