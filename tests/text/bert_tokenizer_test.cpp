// Tests BertTokenizer against Hugging Face's tokenizers (fixtures/wordpiece.json).
#include "tandem/text/bert_tokenizer.h"

#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/text/has_unicode.h"

namespace tandem {
using text::BertTokenizer, text::BertTokenizerOptions;
using Ids = std::vector<int64_t>;

static std::string vocabulary(const nlohmann::json& tokens) {
  std::string text;
  for (const auto& token : tokens) text += token.get<std::string>() + "\n";
  return text;
}

TEST_CASE("BertTokenizer gives the numbers that Hugging Face's tokenizers give", "[text]") {
  if (!test::has_unicode()) return;
  const nlohmann::json fixture = test::read_json("wordpiece.json");
  const test::TemporaryFolder folder;
  test::write_file(folder / "vocab.txt", vocabulary(fixture.at("vocab")));
  for (const auto& each : fixture.at("cases")) {
    BertTokenizerOptions options;
    options.do_lower_case(each.at("do_lower_case")).tokenize_chinese_chars(each.value("tokenize_chinese_chars", true));
    if (each.contains("strip_accents")) options.strip_accents(each.at("strip_accents").get<bool>());
    const BertTokenizer tokenizer(folder / "vocab.txt", options);
    for (size_t i = 0; i < fixture.at("lines").size(); ++i) {
      const auto line = fixture.at("lines")[i].get<std::string>();
      INFO(line);
      CHECK(tokenizer.tokenize_to_ids(line) == each.at("ids")[i].get<Ids>());
    }
  }
  const BertTokenizer tokenizer(folder / "vocab.txt");
  for (size_t i = 0; i < fixture.at("bytes").size(); ++i) {  // byte sequences that are not UTF-8
    const auto hex = fixture.at("bytes")[i].get<std::string>();
    std::string bytes;
    for (size_t k = 0; k < hex.size(); k += 2) bytes += static_cast<char>(std::stoi(hex.substr(k, 2), nullptr, 16));
    INFO(hex);
    CHECK(tokenizer.tokenize_to_ids(bytes) == fixture.at("bytes_ids")[i].get<Ids>());
  }
}

TEST_CASE("BertTokenizer pads and truncates, and says what is wrong with a vocabulary", "[text]") {
  if (!test::has_unicode()) return;
  const test::TemporaryFolder folder;
  const std::string path = folder / "vocab.txt";
  test::write_file(path, "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\nb\r\n##b\r\n");  // line ends of Windows
  BertTokenizer tokenizer(path, BertTokenizerOptions().model_max_length(4));
  CHECK(tokenizer.vocab_size() == 8);
  CHECK(tokenizer.tokenize("abb c [MASK]") == std::vector<std::string>{"a", "##b", "##b", "[UNK]", "[MASK]"});
  CHECK(tokenizer.encode("a b a b").ids == Ids{2, 5, 6, 3});
  CHECK(tokenizer.encode("").ids == Ids{2, 3});
  const text::BatchEncoding batch = tokenizer({"a b a b", "a", ""});
  CHECK(batch.input_ids.equal(tensor({2, 5, 6, 3, 2, 5, 3, 0, 2, 3, 0, 0}).reshape({3, 4})));
  CHECK(batch.attention_mask.equal(tensor({1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0}).reshape({3, 4})));
  CHECK(tokenizer({}).input_ids.sizes() == Shape{0, 0});
  CHECK_THROWS_WITH(tokenizer.convert_ids_to_tokens(8), Contains("8; accepted: 0 to 7"));
  CHECK_THROWS_AS(tokenizer.convert_ids_to_tokens(-1), IndexError);

  CHECK_THROWS_WITH(BertTokenizer(folder / "none.txt"), Contains("none.txt cannot be read"));
  CHECK_THROWS_WITH(BertTokenizer(folder.path()), Contains("reading ") && Contains(" failed"));
  CHECK_THROWS_WITH(BertTokenizer(path, BertTokenizerOptions().mask_token("<mask>")),
                    Contains("has 8 lines, none of which is <mask>"));
  CHECK_THROWS_WITH(BertTokenizer(path, BertTokenizerOptions().model_max_length(1)), Contains("model_max_length is 1"));
}

TEST_CASE("BertTokenizer takes time in proportion to the text's length", "[text]") {
  if (!test::has_unicode()) return;
  BertTokenizerOptions options;
  options.max_input_chars_per_word(int64_t(1) << 40);
  const std::vector<std::string> vocab = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                          "a",     "##a",   "e",     "##e",   "aaaaaaaa"};
  const BertTokenizer tokenizer(vocab, {}, "the test"), without_limit(vocab, options, "the test");
  // Quadratic time would be minutes for each of these.
  const size_t count = 300'000;
  CHECK(tokenizer.tokenize_to_ids(std::string(count, 'a')) == Ids{1});
  CHECK(without_limit.tokenize_to_ids(std::string(count, 'a')).size() == count - 7);
  CHECK(without_limit.tokenize_to_ids(std::string(count, 'a') + "x") == Ids{1});
  std::string accents, marks, bytes, brackets;
  for (size_t i = 0; i < count; ++i) {
    accents += "\u00e9a";
    marks += "\u0301\u0327";
    bytes += "\xff\xe2\x82";
    brackets += "[MASK][";
  }
  CHECK(without_limit.tokenize_to_ids(accents).size() == 2 * count);
  CHECK(without_limit.tokenize_to_ids("a" + marks) == Ids{5});
  CHECK(without_limit.tokenize_to_ids(bytes + "a") == Ids{5});
  CHECK(tokenizer.tokenize_to_ids(brackets).size() == 2 * count);
}

}  // namespace tandem
