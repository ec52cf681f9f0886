// Wraps the demo's networks in one module type, so that the code of each training mode is compiled only once.
#pragma once
#include "tandem/models/models.h"
#include "tandem/train/metrics/confusion_matrix.h"
#include "tandem/train/training_module.h"

namespace tandem::tools {

inline constexpr int kNumClasses = 10;

/// Sizes of the networks for texts: bert (text classification) and gpt (prediction of the next token).
inline constexpr int64_t kVocabularySize = 8192, kBertTextLength = 64, kBertClasses = 3, kGptTextLength = 128;

/// The network named `kind`. mlp, lenet and fashion_cnn take (N, 1, 28, 28) images. bert takes (N, kBertTextLength)
/// tokens, and gpt (N, kGptTextLength) tokens, both int64; `tandem demo` has no data for these two. The Trainer trains
/// the network with Adam. Its validation computes "confusion", the confusion matrix.
class NetImpl : public train::TrainingModule<NetImpl> {
 public:
  /// @throws Error if `kind` is not mlp, lenet, fashion_cnn, bert or gpt
  explicit NetImpl(std::string kind);
  void reset() override;
  using TrainingModule::to;
  /// Moves the network to the device, in the memory format that is fastest there.
  void to(Device device, bool non_blocking = false) override;
  /// Returns (N, 10) logits; for lenet, log probabilities. bert returns (N, kBertClasses) logits, gpt (N,
  /// kGptTextLength, kVocabularySize).
  Tensor forward(const Tensor& inputs) { return forward_(inputs); }
  /// Returns the loss of forward()'s output, reduced to the mean or the sum over all targets.
  /// @param target  int64 (N); for gpt (N, kGptTextLength), the token that follows each token of the input
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
    set_network(network, [](M& module, const Tensor& x) { return module(x); });
  }
  template <class M, class F> void set_network(M network, F forward) {
    network_ = register_module("network", network.ptr());
    forward_ = [network, forward](const Tensor& x) mutable { return forward(network, x); };
  }
  std::string kind_;
  std::shared_ptr<nn::Module> network_;
  std::function<Tensor(const Tensor&)> forward_;
  std::optional<metrics::ConfusionMatrix> confusion_;  // nullopt before count_predictions()
};
TANDEM_MODULE(Net);

}  // namespace tandem::tools
