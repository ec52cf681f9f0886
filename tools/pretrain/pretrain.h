// `tandem pretrain`: trains a GPT on texts.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/text/token_windows.h"
#include "tandem/text/tokenizer.h"

namespace tandem::tools::pretrain {

/// The options of `tandem pretrain`.
struct Settings {
  std::vector<std::string> files;   // texts
  std::string tokens;               // token file; "": the texts are encoded
  std::string tokenizer;            // folder; "": a byte-level BPE is trained on the texts
  std::string validation = "0.05";  // share of the tokens, or a text or token file
  int64_t vocab_size = 2048;
  int64_t layers = 4, heads = 4, width = 128, block_size = 128;
  double dropout = 0;
  std::string strategy = "single", precision = "32", device = "auto", schedule = "cosine";
  int64_t devices = 0;  // 0: 1 for single, else all GPUs or 2
  int64_t batch_size = 32, accumulate = 1;
  int64_t steps = 0, epochs = 0;  // 0: not given; the first limit that is reached ends the training
  double lr = 2e-3, min_lr = -1;  // min_lr: -1: a tenth of lr for cosine, else 0
  double warmup = 0.05, weight_decay = 0.1, clip = 1;
  uint64_t seed = 42;
  int64_t val_interval = 100, sample_interval = 200;  // in steps; sample_interval: 0: one sample, at the end
  int64_t checkpoint_interval = 0;                    // in steps; 0: val_interval
  std::string prompt;
  std::string output = "pretrained", log, tensorboard;  // "": not written
  double peak_flops = 0;                                // 0: measured
  bool resume = false;
};

/// Results of a training.
struct Result {
  std::optional<double> validation_loss;  // nats per token, over all windows of the validation text
  int64_t steps = 0;
};

/// Trains as the settings say, prints progress and samples, and writes the model into settings.output.
/// @throws UsageError for settings or files that are not accepted
Result pretrain(Settings settings);

// Parts of pretrain(), for tests.
/// The tokens to train on.
struct Corpus {
  text::TokenWindows training;  // windows at random positions
  std::optional<text::TokenWindows> validation;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null if only a token file is given
  int64_t training_tokens = 0;
};
/// Returns the share of the tokens that --validation names; nullopt if it names a file. @throws UsageError for a share
/// that is not in [0, 1)
std::optional<double> validation_share(const std::string& validation);
/// Trains or loads the tokenizer, encodes the texts into settings.output, and prints the sizes. If settings.resume is
/// set and the output folder has tokens, uses them instead.
/// @throws UsageError for files that cannot be used, and for texts shorter than a window
Corpus prepare_corpus(const Settings& settings);
/// Measures the rate of products of large float32 matrices for about half a second.
/// @return floating-point operations per second
double measure_peak_flops(Device device);

}  // namespace tandem::tools::pretrain
