// Generates tokens with a decoder: greedily, or by sampling with temperature, top-k and top-p. Options have the names
// of Hugging Face's GenerationConfig.
#pragma once
#include <functional>
#include <optional>

#include "tandem/core/option.h"
#include "tandem/models/kv_cache.h"

namespace tandem::models {

/// Options of generate().
struct GenerationOptions {
  /// Maximum number of tokens that are generated. Not set: max_length decides, and without max_length the model's
  /// number of positions.
  TANDEM_ARG(std::optional<int64_t>, max_new_tokens) = {};
  /// Maximum number of tokens with the prompt. max_new_tokens takes precedence.
  TANDEM_ARG(std::optional<int64_t>, max_length) = {};
  /// If false, each token is the most likely one. If true, tokens are drawn from the distribution that temperature,
  /// top_k and top_p leave, which are applied in this order.
  TANDEM_ARG(bool, do_sample) = false;
  /// Divides the logits: below 1 likely tokens become likelier.
  TANDEM_ARG(double, temperature) = 1.0;
  /// Number of the most likely tokens that are kept; 0 keeps all. Tokens as likely as the last one are kept too.
  TANDEM_ARG(int64_t, top_k) = 50;
  /// Keeps the smallest set of most likely tokens whose probabilities add up to at least this number.
  TANDEM_ARG(double, top_p) = 1.0;
  /// Tokens that end a text. The token itself is part of the text.
  TANDEM_ARG(std::vector<int64_t>, eos_token_id) = {};
  /// Token that follows an ended text, until all texts of the batch have ended. Not set: the first of eos_token_id.
  TANDEM_ARG(std::optional<int64_t>, pad_token_id) = {};
  /// If true, keys and values of earlier tokens are kept. If false, each step computes all tokens again.
  TANDEM_ARG(bool, use_cache) = true;
  /// Seed for sampling. Not set: the default generator draws, or the one that a GeneratorGuard sets.
  TANDEM_ARG(std::optional<uint64_t>, seed) = {};
  /// Called after each step with the new tokens, int64 (N).
  TANDEM_ARG(std::function<void(const Tensor&)>, streamer) = {};

 public:
  /// Sets eos_token_id to one token.
  GenerationOptions& eos_token_id(int64_t token) { return eos_token_id(std::vector<int64_t>{token}); }
};

/// Returns the logits with -infinity for the tokens that temperature, top_k and top_p rule out, as transformers'
/// warpers do.
/// @param logits  (N, vocab_size), floating point
/// @throws Error  unless temperature is positive, top_k is not negative, and top_p is in (0, 1]
Tensor filter_logits(const Tensor& logits, const GenerationOptions& options);

namespace detail {

/// A decoder, as generate_tokens() uses it.
struct Decoder {
  const char* name;
  bool is_training;
  int64_t vocab_size, max_positions;
  /// Returns the logits (N, vocab_size) of the token after input_ids. With a cache, input_ids are the new tokens, and
  /// attention_mask has columns for the cached tokens too.
  std::function<Tensor(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache)> next_logits;
  std::function<KvCache(int64_t batch, int64_t max_length)> make_cache;
};
/// Implements the models' generate().
Tensor generate_tokens(const Decoder& decoder, const Tensor& input_ids, const GenerationOptions& options,
                       const Tensor& attention_mask);

}  // namespace detail
}  // namespace tandem::models
