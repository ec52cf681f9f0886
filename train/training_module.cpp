// Implements what training modules share: logging, and the number of losses of a loss module.
#include "tandem/train/training_module.h"

#include "tandem/core/internal.h"
#include "tandem/ops/factory/tensor.h"

namespace tandem::train {

void detail::AnyTrainingModule::log(const std::string& name, const Tensor& value) {
  TANDEM_CHECK(value.defined() && value.numel() == 1, "log: the value of '", name, "' has ",
               value.defined() ? value.numel() : 0, " elements; accepted: a number, or a tensor of one element");
  logged_.push_back({name, value.detach(), weight_});
}
void detail::AnyTrainingModule::log(const std::string& name, double value) {
  log(name, full({}, value, TensorOptions(kFloat64)));
}

double detail::count_targets(const Tensor& target, const Tensor& class_weight, int64_t ignore_index) {
  if (class_weight.defined() || !target.is_cpu() || target.dtype() != kInt64 || !target.is_contiguous()) {
    const Tensor numbers = zeros({}, TensorOptions(kFloat64).device(target.device()));  // has the result's dtype
    const Tensor weight = class_weight.defined() ? class_weight.to(target.device()) : class_weight;
    return nn::parallel::total_target_weight(numbers, target, weight, ignore_index).item<double>();
  }
  const int64_t* const values = target.data_ptr<int64_t>();
  int64_t count = 0;
  for (int64_t i = 0; i < target.numel(); ++i) count += values[i] != ignore_index ? 1 : 0;
  return static_cast<double>(count);
}

void detail::check_loss_averages(Reduction reduction) {
  TANDEM_CHECK(reduction == Reduction::mean,
               "make_training_module: the loss has a reduction other than mean; accepted: Reduction::mean, with which "
               "the Trainer averages over all rows of a step");
}

}  // namespace tandem::train
