// `tandem generate`: writes text with a language model.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tandem::tools::generate {

/// The options of `tandem generate`.
struct Settings {
  std::string model;  // folder
  std::string prompt, prompt_file;
  int64_t max_new_tokens = 0;  // 0: 200, or fewer if the model has fewer positions
  double temperature = 1, top_p = 1;
  int64_t top_k = 50;
  bool greedy = false;
  uint64_t seed = 42;
  int64_t num_samples = 1;
  bool no_cache = false;
  std::string device = "auto";
};

/// Loads a GPT-2 or a Llama with its tokenizer, and prints prompt and new text while the tokens are made. Prints the
/// rate to standard error at the end. @throws UsageError for settings or files that are not accepted
void generate(const Settings& settings);

}  // namespace tandem::tools::generate
