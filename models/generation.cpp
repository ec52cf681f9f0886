// Implements generate(): filters of the logits, the choice of tokens, and the loop over steps.
#include "tandem/models/generation.h"

#include <limits>

#include "tandem/core/generator.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

constexpr double kNegativeInfinity = -std::numeric_limits<double>::infinity();

void check_filters(const GenerationOptions& o) {
  TANDEM_CHECK(o.temperature() > 0, "generate: temperature is ", o.temperature(), "; it must be positive");
  TANDEM_CHECK(o.top_k() >= 0, "generate: top_k is ", o.top_k(), "; accepted: positive numbers, and 0 for all tokens");
  TANDEM_CHECK(o.top_p() > 0 && o.top_p() <= 1, "generate: top_p is ", o.top_p(), "; accepted: above 0 and at most 1");
}

void check_token(const char* name, int64_t token, const detail::Decoder& decoder) {
  TANDEM_CHECK(token >= 0 && token < decoder.vocab_size, "generate: ", name, " is ", token, "; accepted: 0 to ",
               decoder.vocab_size - 1);
}

/// Checks all arguments, and returns the number of tokens after the last step.
int64_t check_arguments(const detail::Decoder& decoder, const Tensor& input_ids, const GenerationOptions& o,
                        const Tensor& attention_mask) {
  TANDEM_CHECK(!decoder.is_training, "generate: ", decoder.name, " is in training mode; call eval() first");
  TANDEM_CHECK(input_ids.dim() == 2 && input_ids.numel() > 0 && input_ids.dtype() == kInt64, "generate: input_ids is ",
               input_ids.dtype(), " ", input_ids.sizes(), "; accepted: int64 (N, L), with at least one token");
  TANDEM_CHECK(!attention_mask.defined() || attention_mask.sizes() == input_ids.sizes(), "generate: attention_mask is ",
               attention_mask.sizes(), " and input_ids ", input_ids.sizes(), "; they must have the same shape");
  check_filters(o);
  TANDEM_CHECK(o.max_new_tokens() || o.max_length() || !o.eos_token_id().empty(),
               "generate: there is no end: neither max_new_tokens nor max_length nor eos_token_id is set");
  TANDEM_CHECK(!o.max_new_tokens() || *o.max_new_tokens() > 0, "generate: max_new_tokens is ",
               o.max_new_tokens().value_or(0), "; it must be positive");
  for (const int64_t token : o.eos_token_id()) check_token("eos_token_id", token, decoder);
  if (o.pad_token_id()) check_token("pad_token_id", *o.pad_token_id(), decoder);
  const int64_t length = input_ids.size(1);
  const int64_t end =
      o.max_new_tokens() ? length + *o.max_new_tokens() : o.max_length().value_or(decoder.max_positions);
  TANDEM_CHECK(end > length, "generate: input_ids has ", length, " tokens per text, so nothing may follow; ",
               o.max_length() ? "max_length" : "the number of positions", " is ", end);
  TANDEM_CHECK(end <= decoder.max_positions, "generate: ", length, " tokens and ", end - length, " new ones are ", end,
               ", but ", decoder.name, " has positions for ", decoder.max_positions);
  return end;
}

/// Returns the next token of each text, int64 (N).
Tensor choose_tokens(const Tensor& logits, const GenerationOptions& o) {
  if (!o.do_sample()) return logits.argmax(-1);
  return filter_logits(logits, o).softmax(-1).multinomial(1).squeeze(1);
}

}  // namespace

Tensor filter_logits(const Tensor& logits, const GenerationOptions& o) {
  check_filters(o);
  TANDEM_CHECK(logits.dim() == 2 && logits.is_floating_point(), "filter_logits: logits is ", logits.dtype(), " ",
               logits.sizes(), "; accepted: floating point (N, vocab_size)");
  Tensor kept = o.temperature() == 1 ? logits : logits / o.temperature();
  const int64_t vocab_size = logits.size(1);
  if (o.top_k() > 0 && o.top_k() < vocab_size) {
    const Tensor least = std::get<0>(kept.topk(o.top_k(), -1)).narrow(-1, o.top_k() - 1, 1);
    kept = kept.masked_fill(kept < least, kNegativeInfinity);
  }
  if (o.top_p() < 1) {
    const auto [sorted, order] = kept.sort(-1);  // least likely first
    Tensor removed = sorted.softmax(-1).cumsum(-1) <= 1 - o.top_p();
    removed.narrow(-1, vocab_size - 1, 1).fill_(false);  // the most likely token stays in any case
    kept = kept.masked_fill(removed.scatter(1, order, removed), kNegativeInfinity);
  }
  return kept;
}

Tensor detail::generate_tokens(const Decoder& decoder, const Tensor& input_ids, const GenerationOptions& o,
                               const Tensor& attention_mask) {
  const int64_t end = check_arguments(decoder, input_ids, o, attention_mask);
  const NoGradGuard no_grad;
  Generator seeded(o.seed().value_or(0));
  std::optional<GeneratorGuard> guard;
  if (o.seed()) guard.emplace(seeded);

  const int64_t n = input_ids.size(0), length = input_ids.size(1);
  // Memory for all steps, so that no step copies the tokens before it.
  const Tensor tokens = empty({n, end}, input_ids.options());
  tokens.narrow(1, 0, length).copy_(input_ids);
  // A mask without padding is left out, because attention is faster without a mask.
  const bool padded = attention_mask.defined() && !(attention_mask != 0).all().item<bool>();
  Tensor mask;
  if (padded) {
    mask = ones({n, end}, TensorOptions(kBool).device(input_ids.device()));
    mask.narrow(1, 0, length).copy_(attention_mask != 0);
    TANDEM_CHECK(mask.narrow(1, length - 1, 1).all().item<bool>(),
                 "generate: attention_mask has padding at the end of a text; accepted: padding before the text");
  }
  std::optional<KvCache> cache;
  if (o.use_cache()) cache.emplace(decoder.make_cache(n, end - 1));  // nothing attends to the last token
  const std::vector<int64_t>& stops = o.eos_token_id();
  Tensor ended;  // bool (N): whether a text has ended
  int64_t at = length;
  while (at < end) {
    const int64_t from = cache ? cache->length() : 0;
    const Tensor logits = decoder.next_logits(tokens.narrow(1, from, at - from),
                                              padded ? mask.narrow(1, 0, at) : Tensor(), cache ? &*cache : nullptr);
    Tensor next = choose_tokens(logits, o);
    if (ended.defined()) next = next.masked_fill(ended, o.pad_token_id().value_or(stops.empty() ? 0 : stops[0]));
    tokens.select(1, at++).copy_(next);
    if (o.streamer()) o.streamer()(next);
    if (stops.empty()) continue;
    for (const int64_t stop : stops) {
      const Tensor stopped = next == stop;
      ended = ended.defined() ? ended.logical_or(stopped) : stopped;
    }
    if (ended.all().item<bool>()) break;
  }
  return tokens.narrow(1, 0, at).contiguous();
}

}  // namespace tandem::models
