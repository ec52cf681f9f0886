// SentenceTransformer maps sentences to vectors. The cosine of two vectors measures how similar the meanings are
// (Reimers & Gurevych 2019, arXiv:1908.10084).
#pragma once
#include "tandem/models/bert.h"
#include "tandem/text/bert_tokenizer.h"

namespace tandem::models {

/// A BERT whose last hidden states are averaged over a text's tokens, and normalized to length 1 if the model's files
/// ask for it. Loads folders in the format of the Python library sentence-transformers, such as all-MiniLM-L6-v2.
class SentenceTransformer {
 public:
  /// Reads config.json, the weights (model.safetensors or pytorch_model.bin) and the tokenizer (see load_tokenizer).
  /// If they exist, it also reads modules.json with the configuration of the pooling, and sentence_bert_config.json.
  /// The model is left in evaluation mode.
  /// @throws Error  if a file is missing, damaged, or asks for a model other than BERT or a pooling other than
  ///                the mean. The message names the file
  explicit SentenceTransformer(const std::string& folder, Device device = kCPU);

  /// Returns the vectors (texts, hidden_size) on the CPU, not recorded by autograd. Texts of similar length share a
  /// batch. A text is truncated to tokenizer.model_max_length() tokens.
  Tensor encode(const std::vector<std::string>& texts, int64_t batch_size = 32);
  /// Returns the vectors (N, hidden_size) of one batch, recorded by autograd for training.
  Tensor forward(const text::BatchEncoding& batch);

  /// Computes the hidden states of the tokens.
  BertModel model{nullptr};
  /// Tokenizer whose model_max_length is the smallest of the limits in the files and the model's number of positions.
  text::BertTokenizer tokenizer;
  bool normalize = false;  // whether vectors are scaled to length 1

 private:
  void read_modules(const std::string& folder);
  Device device_;
};

}  // namespace tandem::models
