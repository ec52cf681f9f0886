// Implements Tokenizer: adds special tokens, truncates, pads, and encodes batches on several threads.
#include "tandem/text/tokenizer.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/core/threads/thread_pool.h"

namespace tandem::text {
namespace {

constexpr int64_t kTextsPerChunk = 16;  // texts that a thread encodes before it asks for more
using Ids = std::vector<int64_t>;

void check_options(const EncodeOptions& o) {
  const std::string &truncation = o.truncation(), &padding = o.padding();
  TANDEM_CHECK(truncation == "longest_first" || truncation == "only_first" || truncation == "only_second" ||
                   truncation == "do_not_truncate",
               "encode: truncation is \"", truncation,
               "\"; accepted: longest_first, only_first, only_second, do_not_truncate");
  TANDEM_CHECK(padding == "do_not_pad" || padding == "longest" || padding == "max_length", "encode: padding is \"",
               padding, "\"; accepted: do_not_pad, longest, max_length");
  TANDEM_CHECK(o.pad_to_multiple_of() >= 1, "encode: pad_to_multiple_of is ", o.pad_to_multiple_of(),
               "; accepted: 1 or more");
}

/// Shortens one or two lists of tokens to at most max_length tokens together. `second` is null if there is no pair.
void truncate(Ids& first, Ids* second, size_t max_length, const std::string& strategy) {
  const size_t total = first.size() + (second ? second->size() : 0);
  if (total <= max_length) return;
  if (max_length == 0) {  // no strategy could keep a token
    first.clear();
    if (second) second->clear();
    return;
  }
  const size_t excess = total - max_length;
  if (strategy == "longest_first") {
    if (!second) return first.resize(max_length);
    const bool second_is_shorter = first.size() > second->size();
    size_t shorter = std::min(first.size(), second->size());
    size_t longer = shorter > max_length ? shorter : std::max(shorter, max_length - shorter);
    if (shorter + longer > max_length) {  // both must be shortened; an odd token goes to the longer text
      shorter = max_length / 2;
      longer = max_length - shorter;
    }
    first.resize(second_is_shorter ? longer : shorter);
    second->resize(second_is_shorter ? shorter : longer);
    return;
  }
  Ids* const target = strategy == "only_first" ? &first : second;
  TANDEM_CHECK(target, "encode: truncation is only_second, but there is no second text; accepted: longest_first, ",
               "only_first, do_not_truncate");
  TANDEM_CHECK(target->size() > excess, "encode: truncation is ", strategy, ", but the text has ", target->size(),
               " tokens, of which ", excess, " would have to go; accepted: a longer max_length, or longest_first");
  target->resize(target->size() - excess);
}

void append(Encoding& out, const Ids& ids, int64_t type, bool special) {
  out.ids.insert(out.ids.end(), ids.begin(), ids.end());
  out.type_ids.insert(out.type_ids.end(), ids.size(), type);
  out.attention_mask.insert(out.attention_mask.end(), ids.size(), 1);
  out.special_tokens_mask.insert(out.special_tokens_mask.end(), ids.size(), special ? 1 : 0);
}

size_t longest_of(const std::vector<Encoding>& encodings) {
  size_t longest = 0;
  for (const Encoding& each : encodings) longest = std::max(longest, each.ids.size());
  return longest;
}

}  // namespace

Encoding Tokenizer::encode_without_padding(std::string_view text, std::optional<std::string_view> pair,
                                           const EncodeOptions& o) const {
  Ids first = tokenize_to_ids(text), second;
  if (pair) second = tokenize_to_ids(*pair);
  const Template around = o.add_special_tokens() ? special_token_template() : Template();
  const size_t added = around.before.size() + around.after.size() + (pair ? around.after_pair.size() : 0);
  if (o.truncation() != "do_not_truncate") {
    const int64_t max_length = o.max_length().value_or(model_max_length());
    TANDEM_CHECK(max_length >= static_cast<int64_t>(added), "encode: max_length is ", max_length, ", but there are ",
                 added, " special tokens; accepted: ", added, " or more");
    truncate(first, pair ? &second : nullptr, static_cast<size_t>(max_length) - added, o.truncation());
  }
  Encoding out;
  for (auto* list : {&out.ids, &out.type_ids, &out.attention_mask, &out.special_tokens_mask})
    list->reserve(first.size() + second.size() + added);
  append(out, around.before, 0, true);
  append(out, first, 0, false);
  append(out, around.after, 0, true);
  if (!pair) return out;
  append(out, second, 1, false);
  append(out, around.after_pair, 1, true);
  return out;
}

void Tokenizer::pad_to(Encoding& encoding, size_t length) const {
  if (encoding.ids.size() >= length) return;
  const std::optional<int64_t> id = pad_token_id();
  TANDEM_CHECK(id, "encode: an encoding of ", encoding.ids.size(), " tokens must be padded to ", length,
               ", but the tokenizer has no padding token; accepted: texts of equal length, or padding(\"do_not_pad\")");
  encoding.ids.resize(length, *id);
  encoding.type_ids.resize(length, 0);
  encoding.attention_mask.resize(length, 0);
  encoding.special_tokens_mask.resize(length, 1);
}

size_t Tokenizer::padded_length(size_t longest, const EncodeOptions& o) const {
  if (o.padding() == "do_not_pad") return 0;
  if (o.padding() == "max_length") {
    const int64_t wanted = o.max_length().value_or(model_max_length());
    TANDEM_CHECK(wanted < int64_t(1) << 31, "encode: padding is max_length, but neither max_length nor the tokenizer ",
                 "says a length; accepted: max_length(N)");
    longest = static_cast<size_t>(std::max<int64_t>(wanted, 0));
  }
  const auto step = static_cast<size_t>(o.pad_to_multiple_of());
  return (longest + step - 1) / step * step;
}

Encoding Tokenizer::encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& o) const {
  check_options(o);
  Encoding out = encode_without_padding(text, pair, o);
  pad_to(out, padded_length(out.ids.size(), o));
  return out;
}

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<std::string>& texts,
                                              const std::vector<std::string>& pairs, const EncodeOptions& o) const {
  check_options(o);
  TANDEM_CHECK(pairs.empty() || pairs.size() == texts.size(), "encode_batch: there are ", texts.size(), " texts and ",
               pairs.size(), " pairs; accepted: equal numbers, or no pairs");
  std::vector<Encoding> out(texts.size());
  parallel_for(static_cast<int64_t>(texts.size()), kTextsPerChunk, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      out[i] =
          encode_without_padding(texts[i], pairs.empty() ? std::nullopt : std::optional<std::string_view>(pairs[i]), o);
  });
  const size_t length = padded_length(longest_of(out), o);
  for (Encoding& each : out) pad_to(each, length);
  return out;
}

BatchEncoding Tokenizer::pad(const std::vector<Encoding>& encodings) const {
  const size_t longest = longest_of(encodings);
  const Shape shape{static_cast<int64_t>(encodings.size()), static_cast<int64_t>(longest)};
  const auto make = [&] { return core::empty(shape, kInt64, kCPU); };
  const BatchEncoding batch{make(), make(), make()};
  auto* id = batch.input_ids.data_ptr<int64_t>();
  auto* is_token = batch.attention_mask.data_ptr<int64_t>();
  auto* type = batch.token_type_ids.data_ptr<int64_t>();
  for (const Encoding& each : encodings) {
    Encoding padded = each;
    pad_to(padded, longest);
    id = std::copy(padded.ids.begin(), padded.ids.end(), id);
    is_token = std::copy(padded.attention_mask.begin(), padded.attention_mask.end(), is_token);
    type = std::copy(padded.type_ids.begin(), padded.type_ids.end(), type);
  }
  return batch;
}

BatchEncoding Tokenizer::operator()(const std::vector<std::string>& texts, const std::vector<std::string>& pairs,
                                    const EncodeOptions& o) const {
  EncodeOptions padded = o;
  if (padded.padding() == "do_not_pad") padded.padding("longest");
  return pad(encode_batch(texts, pairs, padded));
}

std::vector<std::string> Tokenizer::tokenize(std::string_view text) const {
  std::vector<std::string> out;
  for (const int64_t id : tokenize_to_ids(text)) out.push_back(convert_ids_to_tokens(id));
  return out;
}

}  // namespace tandem::text
