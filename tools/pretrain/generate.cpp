// Implements `tandem generate`, and the samples of `tandem pretrain`.
#include <cstdio>

#include "tandem/core/cuda/cuda.h"
#include "tandem/ops/ops.h"
#include "tandem/tools/pretrain/pretrain.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::pretrain {
namespace {

/// Generates the continuation of tokens, and calls `streamer` with each new token.
std::vector<int64_t> continue_tokens(models::GptModelImpl& model, const text::Tokenizer& tokenizer,
                                     const std::vector<int64_t>& prompt, const GenerateSettings& s,
                                     const std::function<void(int64_t)>& streamer) {
  const NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  const int64_t room = model.config.n_positions() - static_cast<int64_t>(prompt.size());
  models::GenerationOptions options;
  options.max_new_tokens(std::min(s.max_new_tokens, room)).do_sample(s.temperature > 0).top_k(s.top_k).top_p(s.top_p);
  if (s.temperature > 0) options.temperature(s.temperature).seed(s.seed);
  if (const auto eos = tokenizer.eos_token_id()) options.eos_token_id(*eos);
  options.streamer([&](const Tensor& token) { streamer(token.cpu()[0].item<int64_t>()); });
  const Device device = model.wte->weight.device();
  const Tensor input = tensor(prompt).view({1, -1}).to(device);
  const Tensor output = model.generate(input, options).cpu().contiguous();
  model.train(was_training);
  return {output.data<int64_t>(), output.data<int64_t>() + output.numel()};
}

}  // namespace

std::string continue_text(models::GptModelImpl& model, const text::Tokenizer& tokenizer, const GenerateSettings& s) {
  const std::vector<int64_t> prompt = tokenizer.tokenize_to_ids(s.prompt);
  return tokenizer.decode(continue_tokens(model, tokenizer, prompt, s, [](int64_t) {}), /*skip_special_tokens=*/true);
}

void generate(const GenerateSettings& s) {
  const auto tokenizer = rethrow_as_usage_error([&] { return text::load_tokenizer(s.model); });
  const auto model = rethrow_as_usage_error([&] { return models::GptModel::from_pretrained(s.model); });
  check_usage(tokenizer->vocab_size() <= model->config.vocab_size(), s.model, " has a tokenizer of ",
              tokenizer->vocab_size(), " tokens, but a model for ", model->config.vocab_size(),
              "; the tokenizer may be of another model");
  const std::vector<int64_t> prompt = tokenizer->tokenize_to_ids(s.prompt);
  const int64_t positions = model->config.n_positions();
  check_usage(!prompt.empty() && static_cast<int64_t>(prompt.size()) < positions, "--prompt has ", prompt.size(),
              " tokens; accepted: 1 to ", positions - 1, " for this model");
  if (device_count(kCUDA) > 0) model->to(kCUDA);
  std::printf("%s", s.prompt.c_str());
  continue_tokens(*model, *tokenizer, prompt, s, [&](int64_t token) {
    const std::string bytes = tokenizer->decode({token}, /*skip_special_tokens=*/true);
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    std::fflush(stdout);
  });
  std::printf("\n");
}

}  // namespace tandem::tools::pretrain
