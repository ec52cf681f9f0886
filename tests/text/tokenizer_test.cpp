// Tests what all tokenizers share: pairs, truncation, padding and batches, against Hugging Face's tokenizers
// (fixtures/tokenizers.json).
#include "tandem/text/tokenizer.h"

#include "tandem/core/threads/thread_pool.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/text/has_unicode.h"
#include "tandem/text/bert_tokenizer.h"

namespace tandem {
using text::BertTokenizer, text::BertTokenizerOptions, text::EncodeOptions, text::Encoding;
using Ids = std::vector<int64_t>;

static BertTokenizer fixture_tokenizer(const nlohmann::json& fixture, int64_t model_max_length = 512) {
  return BertTokenizer(fixture.at("tokens").get<std::vector<std::string>>(),
                       BertTokenizerOptions().model_max_length(model_max_length), "the fixture");
}
static std::string character(size_t i) { return std::string(1, "abcd"[i % 4]); }

TEST_CASE("Tokenizer truncates texts and pairs as Hugging Face's tokenizers do", "[text]") {
  if (!test::has_unicode()) return;
  const nlohmann::json fixture = test::read_json("tokenizers.json");
  const BertTokenizer tokenizer = fixture_tokenizer(fixture);
  for (const auto& each : fixture.at("truncations")) {
    INFO(each.dump());
    const auto options = EncodeOptions().truncation(each[0].get<std::string>()).max_length(each[1].get<int64_t>());
    const auto text = each[2].get<std::string>(), pair = each[3].is_null() ? "" : each[3].get<std::string>();
    const auto optional_pair = each[3].is_null() ? std::nullopt : std::optional<std::string_view>(pair);
    if (each[4].is_null()) {
      CHECK_THROWS_WITH(tokenizer.encode(text, optional_pair, options), Contains("truncation is only_"));
      continue;
    }
    const Encoding encoding = tokenizer.encode(text, optional_pair, options);
    CHECK(encoding.ids == each[4][0].get<Ids>());
    CHECK(encoding.type_ids == each[4][1].get<Ids>());
    CHECK(encoding.special_tokens_mask == each[4][2].get<Ids>());
    CHECK(encoding.attention_mask == Ids(encoding.ids.size(), 1));
  }
}

TEST_CASE("Tokenizer pads encodings to the longest, a length, or a multiple", "[text]") {
  if (!test::has_unicode()) return;
  const BertTokenizer tokenizer = fixture_tokenizer(test::read_json("tokenizers.json"), 6);
  CHECK(tokenizer.encode("a b c d a b").ids == Ids{2, 5, 6, 7, 8, 3});  // model_max_length
  CHECK(tokenizer.encode("a", {}, EncodeOptions().truncation("do_not_truncate").max_length(1)).ids == Ids{2, 5, 3});
  CHECK(tokenizer.encode("a b", "c", EncodeOptions().add_special_tokens(false)).type_ids == Ids{0, 0, 1});
  const Encoding padded = tokenizer.encode("a", "b", EncodeOptions().padding("max_length").max_length(7));
  CHECK(padded.ids == Ids{2, 5, 3, 6, 3, 0, 0});
  CHECK(padded.type_ids == Ids{0, 0, 0, 1, 1, 0, 0});
  CHECK(padded.attention_mask == Ids{1, 1, 1, 1, 1, 0, 0});
  CHECK(padded.special_tokens_mask == Ids{1, 0, 1, 0, 1, 1, 1});
  CHECK(tokenizer.encode("a", {}, EncodeOptions().padding("max_length")).ids.size() == 6);
  CHECK(tokenizer.encode("a", {}, EncodeOptions().padding("longest").pad_to_multiple_of(8)).ids.size() == 8);
  const auto batch = tokenizer({"a", "a b"}, {"c d", ""}, EncodeOptions().pad_to_multiple_of(4));
  CHECK(batch.input_ids.equal(tensor({2, 5, 3, 7, 8, 3, 0, 0, 2, 5, 6, 3, 3, 0, 0, 0}).reshape({2, 8})));
  CHECK(batch.attention_mask.equal(tensor({1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0}).reshape({2, 8})));
  CHECK(batch.token_type_ids.equal(tensor({0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}).reshape({2, 8})));
}

TEST_CASE("Batches give the same encodings whatever the number of threads", "[text]") {
  if (!test::has_unicode()) return;
  const BertTokenizer tokenizer = fixture_tokenizer(test::read_json("tokenizers.json"));
  std::vector<std::string> texts, pairs;
  for (size_t i = 0; i < 200; ++i) {
    texts.push_back(character(i) + " " + character(i / 4) + (i % 3 ? " don't" : ""));
    pairs.push_back(i % 5 ? character(i / 2) : "");
  }
  const int threads = get_num_threads();
  for (const int n : {1, 3}) {
    set_num_threads(n);
    const auto batch = tokenizer.encode_batch(texts, pairs);
    for (size_t i = 0; i < texts.size(); ++i) {
      const Encoding one = tokenizer.encode(texts[i], pairs[i]);
      CHECK((batch[i].ids == one.ids && batch[i].type_ids == one.type_ids));
    }
  }
  set_num_threads(threads);
}

TEST_CASE("Tokenizer refuses options that it does not know", "[text]") {
  if (!test::has_unicode()) return;
  const nlohmann::json fixture = test::read_json("tokenizers.json");
  const BertTokenizer tokenizer = fixture_tokenizer(fixture);
  const auto says = [&](const EncodeOptions& options, const std::string& words) {
    CHECK_THROWS_WITH(tokenizer.encode("a", "b", options), Contains(words));
  };
  says(EncodeOptions().truncation("left"), "truncation is \"left\"; accepted: longest_first");
  says(EncodeOptions().padding("left"), "padding is \"left\"; accepted: do_not_pad");
  says(EncodeOptions().pad_to_multiple_of(0), "pad_to_multiple_of is 0; accepted: 1 or more");
  says(EncodeOptions().max_length(2), "max_length is 2, but there are 3 special tokens; accepted: 3 or more");
  says(EncodeOptions().max_length(-1), "max_length is -1");
  CHECK_THROWS_WITH(tokenizer.encode("a b", {}, EncodeOptions().truncation("only_second").max_length(3)),
                    Contains("there is no second text"));
  CHECK_THROWS_WITH(tokenizer.encode_batch({"a", "b"}, {"c"}), Contains("2 texts and 1 pairs"));
  const BertTokenizer without_padding(fixture.at("tokens").get<std::vector<std::string>>(),
                                      BertTokenizerOptions().pad_token(""), "the fixture");
  CHECK(without_padding({"a", "b"}).input_ids.sizes() == Shape{2, 3});
  CHECK_THROWS_WITH(without_padding({"a", "a b"}), Contains("the tokenizer has no padding token"));
}

}  // namespace tandem
