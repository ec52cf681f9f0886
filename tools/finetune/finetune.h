// `tandem finetune`: fine-tunes a BERT for the classification of texts or pairs of texts.
#pragma once
#include "tandem/models/text_classification.h"
#include "tandem/train/trainer_options.h"

namespace tandem::tools::finetune {

struct Settings {
  std::string model;  // folder in Hugging Face's layout; "": a small model is made
  std::string train;  // file; "": sentence pairs are generated
  std::vector<std::string> validation, test;
  std::string text_column = "sentence1", pair_column = "sentence2", label_column = "gold_label";
  std::string output = "finetuned", log, tensorboard;  // "": not written
  std::string strategy = "single", precision = "32", device = "auto", schedule = "linear";
  int64_t devices = 0;  // 0: 1 for single, else all GPUs or 2
  int64_t batch_size = 32, max_length = 128, limit = 0, accumulate = 1, checkpoint_steps = 0, workers = 1;
  int64_t epochs = 0;                                                 // 0: 3, or 10 for the small new model
  double lr = 0;                                                      // 0: 2e-5, or 4e-4 for the small new model
  double warmup = 0.06, weight_decay = 0.01, clip = 1, dropout = -1;  // dropout: -1: the model's
  uint64_t seed = 42;
  bool resume = false;
  int64_t stop_after_steps = -1;  // for tests: ends the training early
};

/// Results on one file.
struct SplitResult {
  std::string name;  // name of the file, without its extension
  Tensor confusion;  // int64 (labels, labels): row = label, column = prediction
  double loss = 0;   // mean over the rows
  int64_t correct() const;
  int64_t rows() const;
  double accuracy() const { return static_cast<double>(correct()) / static_cast<double>(rows()); }
};

/// Trains as the settings say, prints the results, and writes the model into settings.output.
/// @return the results on each file of settings.validation and settings.test
/// @throws UsageError for settings or files that are not accepted
std::vector<SplitResult> finetune(Settings settings);
/// Formats the accuracy and the confusion matrix.
std::string format_result(const SplitResult& result, const std::vector<std::string>& labels);

// Parts of finetune(), for tests.
/// The texts of one file.
struct Split {
  std::string name;
  text::LabelledTexts texts;
};
struct Splits {
  Split train;
  std::vector<Split> evaluation;
};
/// Writes generated files into `folder`, and enters them into the settings.
void generate_data(Settings& settings, const std::string& folder);
/// Reads all files. The labels are numbered as `model_labels` if a set of the same names occurs in the training file;
/// otherwise in the order of their bytes. @throws UsageError if a file of MultiNLI has another number of rows than the
/// published one
Splits read_splits(const Settings& settings, const std::vector<std::string>& model_labels);
/// Makes a small model with a vocabulary for the generated sentences, and writes it to `folder`.
void make_small_model(const std::string& folder, uint64_t seed);

}  // namespace tandem::tools::finetune
