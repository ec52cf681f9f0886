// Implements `tandem generate`.
#include "tandem/tools/generate/generate.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>

#include "tandem/core/durations.h"
#include "tandem/models/gpt.h"
#include "tandem/models/llama.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/json_file.h"
#include "tandem/text/text_streamer.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::generate {
namespace {

constexpr int64_t kNewTokens = 200;  // without --max-new-tokens

/// A decoder of any kind.
struct Model {
  int64_t vocab_size, max_positions;
  std::function<Tensor(const Tensor& input_ids, const models::GenerationOptions& options)> generate;
};
template <class Decoder> Model make_model(Decoder decoder, Device device, int64_t vocab_size, int64_t max_positions) {
  decoder->to(device);
  return {vocab_size, max_positions, [decoder](const Tensor& ids, const models::GenerationOptions& options) mutable {
            return decoder->generate(ids, options);
          }};
}
Model load_model(const std::string& folder, Device device) {
  const std::string config = folder + "/config.json";
  const std::string type = tandem::detail::JsonFile(config).text("model_type").value_or("");
  if (type == "gpt2") {
    const auto gpt = models::GptModel::from_pretrained(folder);
    return make_model(gpt, device, gpt->config.vocab_size(), gpt->config.n_positions());
  }
  check_usage(type == "llama", config, ": model_type is '", type, "'; accepted: gpt2, llama");
  const auto llama = models::LlamaForCausalLM::from_pretrained(folder);
  return make_model(llama, device, llama->config.vocab_size(), llama->config.max_position_embeddings());
}

std::string read_prompt(const Settings& s) {
  if (s.prompt_file.empty()) return s.prompt;
  std::ifstream file(s.prompt_file, std::ios::binary);
  check_usage(static_cast<bool>(file), "--prompt-file: ", s.prompt_file, " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

models::GenerationOptions generation_options(const Settings& s, const text::Tokenizer& tokenizer) {
  auto options = models::GenerationOptions()
                     .do_sample(!s.greedy)
                     .temperature(s.temperature)
                     .top_k(s.top_k)
                     .top_p(s.top_p)
                     .use_cache(!s.no_cache);
  if (const std::optional<int64_t> end = tokenizer.eos_token_id()) options.eos_token_id(*end);
  return options;
}

}  // namespace

void generate(const Settings& s) {
  check_usage(s.prompt.empty() || s.prompt_file.empty(), "give either --prompt or --prompt-file, not both");
  check_usage(s.device != "gpu" || device_count(kCUDA) > 0, "--device gpu: there is no GPU that this build can use");
  const Device device = s.device != "cpu" && device_count(kCUDA) > 0 ? kCUDA : kCPU;
  const std::string prompt = read_prompt(s);
  const auto tokenizer = rethrow_as_usage_error([&] { return text::load_tokenizer(s.model); });
  const Model model = rethrow_as_usage_error([&] { return load_model(s.model, device); });
  check_usage(tokenizer->vocab_size() <= model.vocab_size, s.model, " has a tokenizer of ", tokenizer->vocab_size(),
              " tokens, but a model for ", model.vocab_size, "; the tokenizer may be of another model");
  std::vector<int64_t> ids = tokenizer->tokenize_to_ids(prompt);
  if (ids.empty()) {
    check_usage(tokenizer->eos_token_id().has_value(), "the prompt is empty, and the tokenizer in ", s.model,
                " has no end-of-text token to begin with; give --prompt or --prompt-file");
    ids = {*tokenizer->eos_token_id()};
  }
  const auto length = static_cast<int64_t>(ids.size());
  const int64_t room = model.max_positions - length;
  check_usage(room >= std::max<int64_t>(s.max_new_tokens, 1), "the prompt has ", length, " tokens, and the model ",
              model.max_positions, " positions, so at most ", std::max<int64_t>(room, 0),
              " tokens can follow; accepted: a shorter prompt or a smaller --max-new-tokens");
  auto options = generation_options(s, *tokenizer);
  options.max_new_tokens(s.max_new_tokens > 0 ? s.max_new_tokens : std::min(room, kNewTokens));
  const Tensor input_ids = tensor(ids).view({1, length}).to(device);

  using Clock = std::chrono::steady_clock;
  int64_t count = 0;
  double seconds = 0;
  for (int64_t i = 0; i < s.num_samples; ++i) {
    if (s.num_samples > 1) print("--- " + std::to_string(i + 1) + " of " + std::to_string(s.num_samples) + "\n");
    print(prompt);
    text::TextStreamer streamer(*tokenizer, print);
    options.seed(s.seed + static_cast<uint64_t>(i)).streamer([&](const Tensor& next) {
      streamer.put(next.item<int64_t>());
      ++count;
    });
    const Clock::time_point start = Clock::now();
    model.generate(input_ids, options);
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
    streamer.end();
    print("\n");
  }
  std::fprintf(stderr, "%lld tokens in %.2f s: %.4g tokens/s\n", static_cast<long long>(count), seconds,
               static_cast<double>(count) / std::max(seconds, 1e-9));
}

}  // namespace tandem::tools::generate
