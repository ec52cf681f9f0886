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
  Cloneable::to(device, non_blocking);
  set_memory_format(device);
}
void NetImpl::set_memory_format(Device device) {
  // Channels last speeds up only fashion_cnn. lenet has too few channels, and mlp has none.
  if (kind_ != "fashion_cnn") return;
  Cloneable::to(device.is_cpu() ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
}
Tensor NetImpl::loss(const Tensor& output, const Tensor& target, Reduction reduction) const {
  if (kind_ == "lenet") return nn::functional::nll_loss(output, target, reduction);
  return nn::functional::cross_entropy(output, target, reduction);
}

}  // namespace tandem::tools
