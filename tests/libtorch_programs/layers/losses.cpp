// Regression and binary losses: distances, divergences and binary targets.
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

template <class M, class... Targets> void show(const std::string& name, M loss, const Targets&... targets) {
  auto x = wave({3, 4}).requires_grad_();
  const torch::Tensor y = loss(x, targets...);
  y.sum().backward();
  std::cout << "== " << name << '\n' << listed(y) << '\n' << x.grad() << '\n';
}

int main() {
  const auto target = wave({3, 4}, 0.45), share = wave({3, 4}, 0.3).abs(), sign = wave({3, 4}, 1.1).sign();
  show("L1Loss", nn::L1Loss(), target);
  show("L1Loss sum", nn::L1Loss(nn::L1LossOptions(torch::kSum)), target);
  show("MSELoss", nn::MSELoss(), target);
  show("MSELoss none", nn::MSELoss(nn::MSELossOptions().reduction(torch::kNone)), target);
  show("SmoothL1Loss", nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(0.3)), target);
  show("HuberLoss", nn::HuberLoss(nn::HuberLossOptions().delta(0.4).reduction(torch::kNone)), target);
  show("BCEWithLogitsLoss", nn::BCEWithLogitsLoss(), share);
  show("BCEWithLogitsLoss weighted",
       nn::BCEWithLogitsLoss(
           nn::BCEWithLogitsLossOptions().weight(share + 1).pos_weight(torch::full({4}, 2.0, torch::kFloat64))),
       share);
  show("KLDivLoss", nn::KLDivLoss(nn::KLDivLossOptions(torch::kBatchMean)), share);
  show("KLDivLoss log", nn::KLDivLoss(nn::KLDivLossOptions().reduction(torch::kSum).log_target(true)), target);
  show("HingeEmbeddingLoss", nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(0.5)), sign);
  show("SoftMarginLoss", nn::SoftMarginLoss(), sign);
  show("MultiLabelSoftMarginLoss",
       nn::MultiLabelSoftMarginLoss(nn::MultiLabelSoftMarginLossOptions().weight(torch::arange(1, 5, torch::kFloat64))),
       (sign + 1) / 2);
  show("PoissonNLLLoss", nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().full(true)), share * 4);
  show("PoissonNLLLoss of a rate", nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().log_input(false).eps(1.5)), share);
  show("CosineEmbeddingLoss", nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.1)), target,
       torch::tensor({1, -1, 1}));
  show("MarginRankingLoss", nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.2)), target, sign);
  show("TripletMarginLoss", nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(0.7).p(2).swap(true)), target,
       share);
  show("TripletMarginWithDistanceLoss",
       nn::TripletMarginWithDistanceLoss(nn::TripletMarginWithDistanceLossOptions()
                                             .distance_function([](const torch::Tensor& a, const torch::Tensor& b) {
                                               return (a - b).square().sum(-1);
                                             })
                                             .margin(2)),
       target, share);

  auto p = torch::sigmoid(wave({3, 4})).requires_grad_();
  const auto y = nn::BCELoss(nn::BCELossOptions().weight(share))(p, (sign + 1) / 2);
  y.backward();
  std::cout << listed(y) << '\n' << p.grad() << '\n';

  const auto x = wave({3, 4});
  std::cout << F::l1_loss(x, target, F::L1LossFuncOptions(torch::kNone)) << '\n'
            << listed(F::mse_loss(x, target)) << '\n';
  std::cout << listed(F::smooth_l1_loss(x, target, F::SmoothL1LossFuncOptions().beta(0.5))) << '\n';
  std::cout << listed(F::binary_cross_entropy_with_logits(x, share)) << '\n'
            << listed(F::soft_margin_loss(x, sign)) << '\n';
  std::cout << listed(F::poisson_nll_loss(x, share, F::PoissonNLLLossFuncOptions().reduction(torch::kSum))) << '\n';
  std::cout << listed(torch::mse_loss(x, target, torch::Reduction::Sum)) << '\n';
  return 0;
}
