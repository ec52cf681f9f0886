// Implements BertForSequenceClassification: forward, losses, and Hugging Face's files.
#include "tandem/models/bert_for_sequence_classification.h"

#include "tandem/nn/init.h"
#include "tandem/nn/loss.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"
#include "tandem/serialize/module.h"

namespace tandem::models {
namespace {

constexpr const char* kSequenceClassifier = "BertForSequenceClassification";

/// Converts a name in a file of BertModel, or in an older file, to this model's name.
std::string to_classifier_name(const std::string& name) {
  std::string own = name;
  for (const char* const part : {"embeddings.", "encoder.", "pooler."})
    if (own.rfind(part, 0) == 0) own = "bert." + own;
  for (const auto& [from, to] : {std::pair<std::string, const char*>("LayerNorm.gamma", "LayerNorm.weight"),
                                 {"LayerNorm.beta", "LayerNorm.bias"}}) {
    const size_t at = own.rfind(from);
    if (at != std::string::npos && at + from.size() == own.size()) own.replace(at, from.size(), to);
  }
  return own;
}

}  // namespace

void BertForSequenceClassificationImpl::reset() {
  TANDEM_CHECK(config.num_labels() > 0, kSequenceClassifier, ": id2label is empty; it must name at least one label");
  const std::string& type = config.problem_type();
  TANDEM_CHECK(type.empty() || type == "regression" || type == "single_label_classification" ||
                   type == "multi_label_classification",
               kSequenceClassifier, ": problem_type is ", type,
               "; accepted: regression, single_label_classification, multi_label_classification");
  bert = register_module("bert", BertModel(config));
  dropout = register_module("dropout", nn::Dropout(config.classifier_dropout().value_or(config.hidden_dropout_prob())));
  classifier = register_module("classifier", nn::Linear(config.hidden_size(), config.num_labels()));
  nn::init::normal_(classifier->weight, 0, config.initializer_range());
  nn::init::zeros_(classifier->bias);
}

void BertForSequenceClassificationImpl::load(serialize::InputArchive& archive) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (auto& [name, tensor] : tandem::detail::flatten_tensors(archive.value(), /*skip_others=*/true))
    tensors.emplace_back(to_classifier_name(name), std::move(tensor));
  tandem::detail::with_error_context("load: " + archive.name(), [&] { tandem::detail::load_tensors(*this, tensors); });
}

SequenceClassifierOutput BertForSequenceClassificationImpl::forward(const Tensor& input_ids,
                                                                    const Tensor& attention_mask,
                                                                    const Tensor& token_type_ids,
                                                                    const Tensor& labels) {
  const Tensor pooled = std::get<1>(bert(input_ids, attention_mask, token_type_ids));
  SequenceClassifierOutput out;
  out.logits = classifier(dropout(pooled));
  if (labels.defined()) out.loss = compute_loss(out.logits, labels);
  return out;
}

Tensor BertForSequenceClassificationImpl::compute_loss(const Tensor& logits, const Tensor& labels) const {
  std::string type = config.problem_type();
  if (type.empty())
    type = config.num_labels() == 1     ? "regression"
           : labels.is_floating_point() ? "multi_label_classification"
                                        : "single_label_classification";
  const int64_t rows = logits.size(0), count = config.num_labels();
  if (type == "single_label_classification") {
    TANDEM_CHECK(labels.dim() == 1 && labels.size(0) == rows && labels.dtype() == kInt64, kSequenceClassifier,
                 ": labels is ", labels.dtype(), " ", labels.sizes(), " and logits ", logits.sizes(),
                 "; accepted: int64 (", rows, ",)");
    return cross_entropy(logits, labels);
  }
  const bool one_each = count == 1 && labels.dim() == 1 && labels.size(0) == rows;
  TANDEM_CHECK(one_each || labels.sizes() == logits.sizes(), kSequenceClassifier, ": labels is ", labels.sizes(),
               " and logits ", logits.sizes(), "; they must have the same shape for ", type);
  const Tensor target = labels.to(logits.dtype()).reshape(logits.sizes());
  return type == "regression" ? mse_loss(logits, target) : binary_cross_entropy_with_logits(logits, target);
}

void BertForSequenceClassificationImpl::save_pretrained(const std::string& folder) const {
  detail::save_pretrained(state_dict(), folder);
  config.to_json_file(detail::path_in(folder, "config.json"), kSequenceClassifier);
}

BertForSequenceClassification BertForSequenceClassification::from_pretrained(const std::string& folder,
                                                                             const PretrainedOptions& options,
                                                                             LoadingInfo* info) {
  return from_pretrained(folder, BertConfig::from_json_file(detail::path_in(folder, "config.json")), options, info);
}
BertForSequenceClassification BertForSequenceClassification::from_pretrained(const std::string& folder,
                                                                             const BertConfig& config,
                                                                             const PretrainedOptions& options,
                                                                             LoadingInfo* info) {
  BertForSequenceClassification model(config);
  const auto is_head = [](const std::string& name) {
    return name.rfind("classifier.", 0) == 0 || name.rfind("bert.pooler.", 0) == 0;
  };
  detail::load_pretrained(model->state_dict(), {kSequenceClassifier, to_classifier_name, is_head}, folder, options,
                          info);
  model->eval();
  return model;
}

}  // namespace tandem::models
