// `tandem pretrain` trains a GPT on text; `tandem generate` continues a prompt with a trained one.
#pragma once
#include "tandem/models/language_modeling.h"
#include "tandem/text/token_windows.h"
#include "tandem/text/tokenizer.h"

namespace tandem::tools::pretrain {

struct Settings {
  std::vector<std::string> text;                        // text files
  std::string tokens;                                   // token file, instead of text files
  std::string tokenizer;                                // folder; "": byte-level BPE is trained on the text files
  std::string output = "pretrained", log, tensorboard;  // "": not written
  std::string prompt = "\n";                            // of the samples
  std::string strategy = "single", precision = "32", device = "auto", schedule = "cosine";
  int64_t devices = 0;  // 0: 1 for single, else all GPUs or 2
  int64_t vocab_size = 2048, layers = 4, heads = 4, width = 192, block_size = 128;
  int64_t batch_size = 16, accumulate = 1, steps = 400, eval_steps = 100, sample_tokens = 64, workers = 1;
  double lr = 1e-3, warmup = 0.05, weight_decay = 0.1, clip = 1, dropout = 0, validation_part = 0.05, peak_flops = 0;
  uint64_t seed = 42;
  bool resume = false;
  int64_t stop_after_steps = -1;  // for tests: ends the training early
};

struct Result {
  double train_loss = 0, validation_loss = 0;  // nats per token
  int64_t steps = 0;
};

/// Trains as the settings say, prints losses and samples, and writes the model into settings.output.
/// @throws UsageError for settings or files that are not accepted
Result pretrain(Settings settings);

struct GenerateSettings {
  std::string model, prompt;
  int64_t max_new_tokens = 100, top_k = 50;
  double temperature = 0.8, top_p = 1;  // temperature: 0 chooses the likeliest token
  uint64_t seed = 42;
};
/// Prints the prompt and its continuation while it is generated.
/// @throws UsageError for a model that cannot be loaded, and a prompt without tokens
void generate(const GenerateSettings& settings);
/// Returns the prompt and its continuation.
std::string continue_text(models::GptModelImpl& model, const text::Tokenizer& tokenizer,
                          const GenerateSettings& settings);

/// Measures the floating-point operations per second of a product of float32 matrices on a device.
double measure_flops(Device device);

}  // namespace tandem::tools::pretrain
