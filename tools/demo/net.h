// Wraps the demo's networks in one module type, so that the code of each training mode is compiled only once.
#pragma once
#include "tandem/models/models.h"
#include "tandem/train/metrics/confusion_matrix.h"
#include "tandem/train/training_module.h"

namespace tandem::tools {

inline constexpr int kNumClasses = 10;

/// The network named `kind` (mlp, lenet or fashion_cnn), for (N, 1, 28, 28) images. The Trainer trains it with Adam.
/// Its validation computes "confusion", the confusion matrix.
class NetImpl : public train::TrainingModule<NetImpl> {
 public:
  /// @throws Error if `kind` is not mlp, lenet or fashion_cnn
  explicit NetImpl(std::string kind);
  void reset() override;
  using TrainingModule::to;
  /// Moves the network to the device, in the memory format that is fastest there.
  void to(Device device, bool non_blocking = false) override;
  /// Returns (N, 10) logits; for lenet, log probabilities.
  Tensor forward(const Tensor& images) { return forward_(images); }
  /// Returns the loss of forward()'s output, reduced over rows to the mean or the sum.
  Tensor loss(const Tensor& output, const Tensor& target, Reduction reduction = Reduction::mean) const;
  /// Reduction of the loss in training.
  Reduction reduction = Reduction::mean;
  /// If true, training adds up the losses of DataParallel's shards. If false, it averages them, weighted by rows.
  bool adds_shards = false;

  /// Makes validation compute "confusion", the confusion matrix.
  void count_predictions();

  // called by the Trainer
  Tensor forward(const data::Example<>& batch) override { return forward(batch.data); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    return loss(output, batch.target, reduction);
  }
  train::detail::BatchLoss training_loss(const train::detail::AnyTree& batch, double weight) override;
  void validation_step(const data::Example<>& batch) override;
  train::Optimizers configure_optimizers() override;
  /// Returns the wrapped network. Checkpoints use its parameter names, without this wrapper's prefix.
  nn::Module& network() { return *network_; }

 private:
  void set_memory_format(Device device);
  template <class M> void set_network(M network) {
    network_ = register_module("network", network.ptr());
    forward_ = [network](const Tensor& x) { return network(x); };
  }
  std::string kind_;
  std::shared_ptr<nn::Module> network_;
  std::function<Tensor(const Tensor&)> forward_;
  std::optional<metrics::ConfusionMatrix> confusion_;  // nullopt before count_predictions()
};
TANDEM_MODULE(Net);

}  // namespace tandem::tools
