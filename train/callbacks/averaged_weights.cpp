// Implements AveragedWeights.
#include "tandem/train/callbacks/averaged_weights.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::train {

void AveragedWeights::start(const nn::Module& module) {
  const std::vector<Tensor> parameters = module.parameters();
  TANDEM_CHECK(averages_.empty() || averages_.size() == parameters.size(), "Trainer: the checkpoint has averages of ",
               averages_.size(), " parameters, but the module has ", parameters.size(), "; accepted: the same module");
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (averages_.size() == i) averages_.push_back(parameters[i].detach().clone());
    averages_[i] = averages_[i].to(parameters[i].device());
  }
}
void AveragedWeights::update(const nn::Module& module, double share) {
  const NoGradGuard guard;
  const std::vector<Tensor> parameters = module.parameters();
  for (size_t i = 0; i < averages_.size(); ++i) averages_[i].lerp_(parameters[i].detach(), share);
}
void AveragedWeights::swap(const nn::Module& module) {
  const NoGradGuard guard;
  const std::vector<Tensor> parameters = module.parameters();
  for (size_t i = 0; i < averages_.size(); ++i) {
    Tensor before = parameters[i].detach().clone();
    Tensor(parameters[i]).copy_(averages_[i]);
    averages_[i] = std::move(before);
  }
}
void AveragedWeights::save(serialize::OutputArchive& archive) const {
  for (size_t i = 0; i < averages_.size(); ++i) archive.write(std::to_string(i), averages_[i], /*is_buffer=*/true);
}
void AveragedWeights::load(serialize::InputArchive& archive) {
  averages_.assign(archive.keys().size(), Tensor());
  for (size_t i = 0; i < averages_.size(); ++i) archive.read(std::to_string(i), averages_[i], /*is_buffer=*/true);
}

}  // namespace tandem::train
