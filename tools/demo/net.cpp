// Implements NetImpl: creates a network by name, and computes its loss.
#include "tandem/tools/demo/net.h"

#include "tandem/tandem.h"

namespace tandem::tools {
namespace {

constexpr int64_t kWidth = 128, kLayers = 2, kHeads = 4;

models::BertForSequenceClassification make_bert() {
  models::BertConfig config;
  config.vocab_size(kVocabularySize).max_position_embeddings(kBertTextLength);
  config.hidden_size(kWidth).intermediate_size(4 * kWidth).num_hidden_layers(kLayers).num_attention_heads(kHeads);
  return models::BertForSequenceClassification(config.num_labels(kBertClasses));
}
models::GptModel make_gpt() {
  models::GptConfig config;
  config.vocab_size(kVocabularySize).n_positions(kGptTextLength).n_embd(kWidth).n_layer(kLayers).n_head(kHeads);
  return models::GptModel(config);
}

}  // namespace

NetImpl::NetImpl(std::string kind) : kind_(std::move(kind)) { NetImpl::reset(); }
void NetImpl::reset() {
  if (kind_ == "mlp") return set_network(models::Mlp());
  if (kind_ == "lenet") return set_network(models::Lenet());
  if (kind_ == "bert")
    return set_network(make_bert(), [](const auto& bert, const Tensor& x) { return bert(x).logits; });
  if (kind_ == "gpt") return set_network(make_gpt());
  TANDEM_CHECK(kind_ == "fashion_cnn", "demo: there is no model '", kind_,
               "'; accepted: mlp, lenet, fashion_cnn, bert, gpt");
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
  if (kind_ == "gpt") return nn::functional::cross_entropy(output.flatten(0, 1), target.flatten(), reduction);
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
