// SentenceTransformer: sentences to vectors whose product says how near two meanings are (Reimers & Gurevych 2019,
// arXiv:1908.10084).
#pragma once
#include "tandem/data/text/wordpiece.h"
#include "tandem/models/bert.h"

namespace tandem::models {

/// The tokenizer of a model's folder: vocab.txt, with the options of tokenizer_config.json where that exists.
/// @throws Error  naming the file that is missing or wrong
data::BertTokenizer load_bert_tokenizer(const std::string& folder);

/// A BERT whose last hidden states are averaged over a text's tokens, and mostly brought to length 1: a folder as the
/// Python library sentence-transformers writes and reads it, all-MiniLM-L6-v2 for one.
class SentenceTransformer {
 public:
  /// Reads config.json, the weights (model.safetensors or pytorch_model.bin), vocab.txt, and where they exist
  /// modules.json and what it names, tokenizer_config.json and sentence_bert_config.json. The model is in evaluation.
  /// @throws Error  naming the file that is missing, damaged, or asks for what is not here: another model than BERT,
  ///                another pooling than the mean
  explicit SentenceTransformer(const std::string& folder, Device device = kCPU);

  /// The vectors (texts, hidden_size), on the CPU, without a graph. Texts of similar length share a batch. A text of
  /// more tokens than max_seq_length loses its end.
  Tensor encode(const std::vector<std::string>& texts, int64_t batch_size = 32);
  /// The same of one batch, (N, hidden_size), recorded: to train it.
  Tensor forward(const data::BatchEncoding& batch);

  /// What makes the vectors of the tokens.
  BertModel model{nullptr};
  data::BertTokenizer tokenizer;  // its model_max_length is max_seq_length: what the files and the positions allow
  bool normalize = false;         // whether vectors get length 1

 private:
  void read_modules(const std::string& folder);
  Device device_;
};

}  // namespace tandem::models
