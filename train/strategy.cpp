// Implements Strategy: a step on one device.
#include "tandem/train/strategy.h"

#include "tandem/core/autocast.h"
#include "tandem/core/internal.h"
#include "tandem/nn/utils/clip_grad.h"
#include "tandem/ops/ops.h"

namespace tandem::train {

Strategy::Strategy(detail::Trainable module, std::vector<Device> devices)
    : module_(std::move(module)), devices_(std::move(devices)) {
  module_.module->to(devices_[0]);
}

BatchResult Strategy::train_batch(MicroBatch& micro_batch, const StepSettings& settings) {
  micro_batch.batch->move_to(devices_[0]);
  detail::BatchLoss loss =
      with_autocast(settings, [&] { return module_.hooks->training_loss(*micro_batch.batch, micro_batch.weight); });
  backward(loss, 1, settings);
  return {std::move(loss), module_.hooks->take_logged()};
}

void Strategy::clip_gradients(double max_norm) {
  // The host does not read the norm, so it does not wait for the GPU.
  const std::vector<Tensor> parameters = module_.module->parameters();
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) gradients.push_back(p.grad());
  nn::utils::clip_grads_with_norm_(parameters, max_norm, nn::utils::get_total_norm(gradients));
}

void Strategy::optimizer_step(optim::Optimizer& optimizer, amp::GradScaler* scaler) {
  if (!scaler) {
    optimizer.step();
    return;
  }
  scaler->step(optimizer);
  scaler->update();
}

std::vector<detail::LoggedValue> Strategy::evaluate(MicroBatch& micro_batch, const StepSettings& settings) {
  if (!micro_batch.batch) return {};
  micro_batch.batch->move_to(devices_[0]);
  with_autocast(settings, [&] {
    module_.hooks->validation_any(*micro_batch.batch, micro_batch.weight);
    return detail::BatchLoss();
  });
  return module_.hooks->take_logged();
}

detail::BatchLoss Strategy::with_autocast(const StepSettings& settings,
                                          const std::function<detail::BatchLoss()>& f) const {
  if (!settings.autocast_dtype) return f();
  const AutocastGuard guard(devices_[0].type(), settings.autocast_dtype);
  return f();
}

void Strategy::backward(detail::BatchLoss& loss, double factor, const StepSettings& settings) {
  const Tensor value = std::exchange(loss.value, loss.value.defined() ? loss.value.detach() : Tensor());
  TANDEM_CHECK(value.defined() && value.numel() == 1, "Trainer: the loss has ", value.defined() ? value.numel() : 0,
               " elements; accepted: one number, the mean loss of the batch");
  TANDEM_CHECK(value.requires_grad(),
               "Trainer: the loss of the batch does not depend on a parameter that requires a "
               "gradient; accepted: a loss of the module's output");
  factor *= loss.sum_factor();
  // A step without losses, whose targets are all ignored, has zero gradients.
  const double total = settings.total_weight > 0 ? settings.total_weight : 1;
  Tensor gradient;
  if (settings.total_on_device.defined())
    gradient = (factor / (settings.total_on_device + (settings.total_on_device == 0).to(kFloat64))).to(value.dtype());
  else
    gradient = full(value.sizes(), factor / total, value.options());
  (settings.scaler ? settings.scaler->scale(value) : value).backward(gradient.reshape(value.sizes()));
}

}  // namespace tandem::train
