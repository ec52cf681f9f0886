// Classification losses: cross-entropy, margins, CTC and adaptive softmax.
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

/// Reshapes a scalar to one element, because tensors without dimensions print all their digits.
torch::Tensor listed(const torch::Tensor& y) { return y.dim() == 0 ? y.view(1) : y; }

template <class M>
void show(const std::string& name, M loss, const torch::Tensor& target, torch::Tensor x = wave({3, 4})) {
  x.set_requires_grad(true);
  const torch::Tensor y = loss(x, target);
  y.sum().backward();
  std::cout << "== " << name << '\n' << listed(y) << '\n' << x.grad() << '\n';
}

int main() {
  const auto classes = torch::tensor({2, 0, 3}), weight = torch::arange(1, 5, torch::kFloat64);
  show("CrossEntropyLoss", nn::CrossEntropyLoss(), classes);
  show("weighted", nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(weight).reduction(torch::kSum)), classes);
  show("ignored", nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().ignore_index(0)), classes);
  show("smoothed", nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().label_smoothing(0.2).reduction(torch::kNone)),
       classes);
  show("shares", nn::CrossEntropyLoss(), wave({3, 4}, 0.4).softmax(1));
  show("of planes", nn::CrossEntropyLoss(), torch::tensor({{{0, 1}, {2, 1}}}), wave({1, 3, 2, 2}));
  show("NLLLoss", nn::NLLLoss(nn::NLLLossOptions().weight(weight).ignore_index(3)), classes);
  show("NLLLoss of planes", nn::NLLLoss(nn::NLLLossOptions().reduction(torch::kNone)),
       torch::tensor({{{0, 1}, {2, 1}}}), wave({1, 3, 2, 2}));
  show("MultiMarginLoss", nn::MultiMarginLoss(), classes);
  show("MultiMarginLoss squared", nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).margin(0.8).weight(weight)),
       classes);
  show("MultiLabelMarginLoss", nn::MultiLabelMarginLoss(), torch::tensor({{3, 0, -1, 1}, {2, -1, 0, 0}, {0, 1, 2, 3}}));

  auto logits = wave({6, 2, 4}).requires_grad_();
  const auto labels = torch::tensor({{1, 2, 2}, {3, 1, 0}}), lengths = torch::tensor({6, 5}),
             counts = torch::tensor({3, 2});
  const auto spelled =
      nn::CTCLoss(nn::CTCLossOptions().reduction(torch::kNone))(logits.log_softmax(2), labels, lengths, counts);
  spelled.sum().backward();
  std::cout << spelled << '\n' << logits.grad() << '\n';
  std::cout << listed(F::ctc_loss(logits.log_softmax(2), labels, lengths, counts,
                                  F::CTCLossFuncOptions().reduction(torch::kMean)))
            << '\n';

  nn::AdaptiveLogSoftmaxWithLoss adaptive(nn::AdaptiveLogSoftmaxWithLossOptions(4, 8, {2, 5}).div_value(2.0));
  adaptive->to(torch::kFloat64);
  {
    torch::NoGradGuard guard;
    double step = 0.3;
    for (auto& parameter : adaptive->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.2));
  }
  const auto result = adaptive(wave({3, 4}), torch::tensor({0, 4, 7}));
  std::cout << result.output << '\n' << torch::full({1}, result.loss) << '\n';
  std::cout << adaptive->log_prob(wave({3, 4})) << '\n' << adaptive->predict(wave({3, 4})) << '\n';

  const auto x = wave({3, 4});
  std::cout << listed(F::cross_entropy(x, classes, F::CrossEntropyFuncOptions().weight(weight))) << '\n';
  std::cout << listed(F::nll_loss(x.log_softmax(1), classes)) << '\n';
  std::cout << listed(F::multi_margin_loss(x, classes, F::MultiMarginLossFuncOptions().margin(2))) << '\n';
  std::cout << listed(torch::nll_loss(x, classes, /*weight=*/{}, torch::Reduction::Sum)) << '\n';
  std::cout << listed(torch::cross_entropy_loss(x, classes)) << '\n';
  return 0;
}
