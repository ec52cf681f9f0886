// Implements NetImpl: creates the MLP, LeNet or CNN by name, and computes its loss.
#include "tandem/tools/demo/net.h"

#include "tandem/tandem.h"

namespace tandem::tools {

NetImpl::NetImpl(std::string kind) : kind_(std::move(kind)) { NetImpl::reset(); }
void NetImpl::reset() {
  if (kind_ == "mlp") return set_network(models::Mlp());
  if (kind_ == "lenet") return set_network(models::Lenet());
  TANDEM_CHECK(kind_ == "fashion_cnn", "demo: there is no model '", kind_, "'; accepted: mlp, lenet, fashion_cnn");
  set_network(models::FashionCnn());
  set_memory_format(kCPU);
}
void NetImpl::to(Device device, bool non_blocking) {
  TrainingModule::to(device, non_blocking);
  set_memory_format(device);
}
void NetImpl::set_memory_format(Device device) {
  // Channels last speeds up only fashion_cnn. lenet has too few channels, and mlp has none.
  if (kind_ != "fashion_cnn") return;
  TrainingModule::to(device.is_cpu() ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
}
Tensor NetImpl::loss(const Tensor& output, const Tensor& target, Reduction reduction) const {
  if (kind_ == "lenet") return nn::functional::nll_loss(output, target, reduction);
  return nn::functional::cross_entropy(output, target, reduction);
}
train::detail::BatchLoss NetImpl::training_loss(const train::detail::AnyTree& batch, double weight) {
  train::detail::BatchLoss loss = TrainingModule::training_loss(batch, weight);
  loss.is_mean = !adds_shards;
  return loss;
}
void NetImpl::validation_step(const data::Example<>& batch) {
  confusion_.value().update(forward(batch).argmax(1), batch.target);
}
void NetImpl::count_predictions() {
  confusion_.emplace(metrics::ConfusionMatrixOptions("multiclass").num_classes(kNumClasses));
  register_metric("confusion", *confusion_);
}
train::Optimizers NetImpl::configure_optimizers() {
  return std::make_unique<optim::Adam>(parameters(), optim::AdamOptions(1e-3));
}

}  // namespace tandem::tools
