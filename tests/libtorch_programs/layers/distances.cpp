// Linear, bilinear and identity layers, distances and similarities, and dropout in evaluation mode.
#include <torch/torch.h>

#include <iostream>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

template <class M> M known(M module) {
  module->to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.2;
  for (auto& parameter : module->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.13));
  return module;
}

int main() {
  auto linear = known(nn::Linear(nn::LinearOptions(3, 2)));
  auto plain = known(nn::Linear(nn::LinearOptions(3, 2).bias(false)));
  std::cout << linear(wave({2, 2, 3})) << '\n' << plain(wave({3})) << '\n' << plain->bias.defined() << '\n';
  std::cout << nn::Identity()(wave({2})) << '\n';
  auto bilinear = known(nn::Bilinear(nn::BilinearOptions(2, 3, 2)));
  const auto y = bilinear(wave({4, 2}), wave({4, 3}, 0.2));
  y.square().sum().backward();
  std::cout << y << '\n' << bilinear->weight.grad() << '\n' << bilinear->bias.grad() << '\n';
  std::cout << F::linear(wave({2, 3}), wave({4, 3}), wave({4})) << '\n';
  std::cout << F::bilinear(wave({2, 2}), wave({2, 3}), wave({1, 2, 3})) << '\n';

  auto a = wave({3, 4}).requires_grad_();
  const auto b = wave({3, 4}, 0.3);
  nn::CosineSimilarity cosine(nn::CosineSimilarityOptions().dim(1).eps(1e-6));
  nn::PairwiseDistance distance(nn::PairwiseDistanceOptions().p(3).keepdim(true));
  std::cout << cosine(a, b) << '\n' << distance(a, b) << '\n';
  (cosine(a, b).sum() + distance(a, b).sum()).backward();
  std::cout << a.grad() << '\n';
  std::cout << F::cosine_similarity(a, b, F::CosineSimilarityFuncOptions().dim(0)) << '\n';
  std::cout << F::pairwise_distance(a, b, F::PairwiseDistanceFuncOptions().p(1)) << '\n' << F::pdist(b) << '\n';
  std::cout << torch::cdist(a, wave({2, 4}, 0.5)) << '\n' << torch::cdist(a, wave({2, 4}, 0.5), 1.0) << '\n';
  std::cout << torch::dist(a, b, 2).view(1) << '\n' << torch::cosine_similarity(a, b, 1) << '\n';

  const auto x = wave({1, 2, 2, 2});
  nn::Dropout dropout(0.5);
  nn::Dropout2d channels(nn::Dropout2dOptions().p(0.3));
  nn::AlphaDropout alpha;
  nn::FeatureAlphaDropout feature(0.2);
  for (nn::Module* module :
       std::initializer_list<nn::Module*>{dropout.get(), channels.get(), alpha.get(), feature.get()})
    module->eval();
  std::cout << dropout(x).equal(x) << channels(x).equal(x) << alpha(x).equal(x) << feature(x).equal(x) << '\n';
  std::cout << F::dropout(x, F::DropoutFuncOptions().p(0.9).training(false)).equal(x);
  std::cout << F::dropout(x, F::DropoutFuncOptions().p(1.0)).abs().sum().item<double>() << dropout->is_training()
            << '\n';
  return 0;
}
