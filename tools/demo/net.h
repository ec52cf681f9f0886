// The demo's networks as one type, so that every way of training is compiled once.
#pragma once
#include "tandem/models/models.h"

namespace tandem::tools {

/// mlp, lenet or fashion_cnn, on (N, 1, 28, 28) images.
class NetImpl : public nn::Cloneable<NetImpl> {
 public:
  /// @throws Error for another name
  explicit NetImpl(std::string kind);
  void reset() override;
  using Cloneable::to;
  /// In the memory format in which the network is fastest on that device.
  void to(Device device, bool non_blocking = false) override;
  /// -> (N, 10) logits, or log probabilities (lenet)
  Tensor forward(const Tensor& images) { return forward_(images); }
  /// The loss of outputs of forward(): its mean over the rows, or its sum.
  Tensor loss(const Tensor& output, const Tensor& target, Reduction reduction = Reduction::mean) const;
  /// The network itself, whose names a state file has.
  nn::Module& network() { return *network_; }

 private:
  void choose_format(Device device);
  template <class M> void use(M network) {
    network_ = register_module("network", network.ptr());
    forward_ = [network](const Tensor& x) { return network(x); };
  }
  std::string kind_;
  std::shared_ptr<nn::Module> network_;
  std::function<Tensor(const Tensor&)> forward_;
};
TANDEM_MODULE(Net);

}  // namespace tandem::tools
