// Implements EncodedTexts. The tokens of all texts are stored in one list, because a vector for each of hundreds of
// thousands of texts takes several times the memory.
#include "tandem/text/encoded_texts.h"

#include <algorithm>
#include <limits>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::text {

EncodedTexts::EncodedTexts(const std::vector<Encoding>& encodings, std::vector<int64_t> labels, const Options& options)
    : contents_(std::make_shared<Contents>()), options_(options) {
  TANDEM_CHECK(options.pad_to_multiple_of() >= 1, "EncodedTexts: pad_to_multiple_of is ", options.pad_to_multiple_of(),
               "; accepted: 1 or more");
  append(encodings);
  set_labels(std::move(labels));
}

EncodedTexts EncodedTexts::encode(const Tokenizer& tokenizer, const LabelledTexts& texts, EncodeOptions encode_options,
                                  Options options) {
  constexpr size_t kRowsAtOnce = 8192;  // limits the memory that encodings take
  if (const std::optional<int64_t> pad = tokenizer.pad_token_id()) options.pad_token_id(*pad);
  EncodedTexts out(std::vector<Encoding>(), {}, options);
  encode_options.padding("do_not_pad");
  for (size_t row = 0; row < texts.texts.size(); row += kRowsAtOnce) {
    const auto slice = [&](const std::vector<std::string>& all) {
      const auto at = [&](size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(std::min(i, all.size())); };
      return std::vector<std::string>(at(row), at(row + kRowsAtOnce));
    };
    out.append(tokenizer.encode_batch(slice(texts.texts), slice(texts.pairs), encode_options));
  }
  out.set_labels(texts.labels);
  return out;
}

void EncodedTexts::append(const std::vector<Encoding>& encodings) {
  Contents& c = *contents_;
  for (const Encoding& e : encodings) {
    TANDEM_CHECK(!e.ids.empty() && e.type_ids.size() == e.ids.size(), "EncodedTexts: text ", c.ends.size(), " has ",
                 e.ids.size(), " tokens and ", e.type_ids.size(), " type IDs; accepted: the same number, 1 or more");
    for (size_t i = 0; i < e.ids.size(); ++i) {
      TANDEM_CHECK(
          e.ids[i] >= 0 && e.ids[i] <= std::numeric_limits<int32_t>::max() && e.type_ids[i] >= 0 && e.type_ids[i] < 256,
          "EncodedTexts: text ", c.ends.size(), " has the token ", e.ids[i], " of type ", e.type_ids[i],
          "; accepted: tokens from 0 to 2^31 - 1, types from 0 to 255");
      c.ids.push_back(static_cast<int32_t>(e.ids[i]));
      c.type_ids.push_back(static_cast<uint8_t>(e.type_ids[i]));
    }
    c.ends.push_back(c.ids.size());
  }
}
void EncodedTexts::set_labels(std::vector<int64_t> labels) {
  TANDEM_CHECK(labels.empty() || labels.size() == contents_->ends.size(), "EncodedTexts: there are ",
               contents_->ends.size(), " texts, but ", labels.size(), " labels; accepted: as many, or none");
  contents_->labels = std::move(labels);
}

std::vector<int64_t> EncodedTexts::lengths() const {
  std::vector<int64_t> lengths;
  for (size_t row = 0; row < contents_->ends.size(); ++row)
    lengths.push_back(static_cast<int64_t>(contents_->ends[row] - begin(row)));
  return lengths;
}

TextBatch EncodedTexts::get_batch(data::BatchPart part) {
  const Contents& c = *contents_;
  size_t longest = 0;
  for (const size_t row : part.batch) {
    TANDEM_CHECK(row < c.ends.size(), "EncodedTexts: there is no text ", row, "; accepted: less than ", c.ends.size());
    longest = std::max(longest, c.ends[row] - begin(row));
  }
  const auto multiple = static_cast<size_t>(options_.pad_to_multiple_of());
  const size_t length = (longest + multiple - 1) / multiple * multiple;
  const auto rows = static_cast<int64_t>(part.indices.size());
  const std::vector<int64_t> sizes = {rows, static_cast<int64_t>(length)};
  TextBatch batch{full(sizes, options_.pad_token_id(), kInt64), zeros(sizes, kInt64), zeros(sizes, kInt64),
                  full({rows}, -100, kInt64)};
  int64_t* ids = batch.input_ids.data<int64_t>();
  int64_t* mask = batch.attention_mask.data<int64_t>();
  int64_t* types = batch.token_type_ids.data<int64_t>();
  int64_t* label = batch.labels.data<int64_t>();
  for (const size_t row : part.indices) {
    TANDEM_CHECK(row < c.ends.size() && c.ends[row] - begin(row) <= length, "EncodedTexts: text ", row,
                 " of the part is not in the batch; accepted: a part of the batch");
    for (size_t from = begin(row), to = 0; from < c.ends[row]; ++from, ++to) {
      ids[to] = c.ids[from];
      mask[to] = 1;
      types[to] = c.type_ids[from];
    }
    if (!c.labels.empty()) *label = c.labels[row];
    ids += length, mask += length, types += length, ++label;
  }
  return batch;
}

}  // namespace tandem::text
