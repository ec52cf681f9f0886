// Tests load_tokenizer and save: files of Hugging Face's tokenizers, and the errors for damaged files.
#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/text/has_unicode.h"
#include "tandem/text/bert_tokenizer.h"

namespace tandem {
using text::BertTokenizer, text::BertTokenizerOptions, text::load_tokenizer;
using Json = nlohmann::json;
using Ids = std::vector<int64_t>;

TEST_CASE("tokenizer.json gives the numbers and texts that Hugging Face's tokenizers give", "[text]") {
  if (!test::has_unicode()) return;
  const Json fixture = test::read_json("tokenizers.json");
  const test::TemporaryFolder folder;
  for (const Json& each : fixture.at("added")) {
    test::write_file(folder / "tokenizer.json", each.at("json").get<std::string>());
    const auto tokenizer = load_tokenizer(folder.path());
    tokenizer->save(folder / "saved");
    const auto again = load_tokenizer(folder / "saved/tokenizer.json");
    for (size_t i = 0; i < fixture.at("lines").size(); ++i) {
      const auto line = fixture.at("lines")[i].get<std::string>();
      INFO(line);
      CHECK(tokenizer->encode(line).ids == each.at("ids")[i].get<Ids>());
      CHECK(again->encode(line).ids == each.at("ids")[i].get<Ids>());
      CHECK(tokenizer->decode(each.at("ids")[i].get<Ids>(), /*skip_special_tokens=*/true) == each.at("decoded")[i]);
    }
    CHECK(again->vocab_size() == tokenizer->vocab_size());
    CHECK(again->pad_token_id() == 0);
    CHECK((again->is_special(4) && !again->is_special(5) && !again->is_special(-1) && !again->is_special(1000)));
  }
}

TEST_CASE("BertTokenizer decodes as Hugging Face's tokenizers do", "[text]") {
  if (!test::has_unicode()) return;
  const Json fixture = test::read_json("tokenizers.json");
  const BertTokenizer tokenizer(fixture.at("tokens").get<std::vector<std::string>>(), {}, "the fixture");
  for (const Json& each : fixture.at("decodings")) {
    INFO(each.dump());
    CHECK(tokenizer.decode(each[0].get<Ids>()) == each[1]);
    CHECK(tokenizer.decode(each[0].get<Ids>(), /*skip_special_tokens=*/true) == each[2]);
  }
  CHECK(tokenizer.decode({}).empty());
  CHECK_THROWS_AS(tokenizer.decode({5, 1000}), IndexError);
  CHECK_THROWS_WITH(tokenizer.decode({-1}), Contains("the ID is -1; accepted: 0 to "));
}

TEST_CASE("A folder with vocab.txt takes its options from the files beside it, or guesses the case", "[text]") {
  if (!test::has_unicode()) return;
  const test::TemporaryFolder folder;
  const std::string special = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  const auto tokens_of = [&](const std::string& text) { return load_tokenizer(folder.path())->tokenize(text); };
  using Tokens = std::vector<std::string>;
  test::write_file(folder / "vocab.txt", special + "hello\n");
  CHECK(tokens_of("Hello") == Tokens{"hello"});  // warns: assumed uncased
  test::write_file(folder / "vocab.txt", special + "hello\nHello\n");
  CHECK(tokens_of("Hello hello") == Tokens{"Hello", "hello"});  // warns: assumed cased
  test::write_file(folder / "config.json", R"({"do_lower_case": true})");
  CHECK(tokens_of("Hello") == Tokens{"hello"});
  test::write_file(folder / "tokenizer_config.json",
                   R"({"do_lower_case": false, "model_max_length": 1e30, "mask_token": {"content": "hello"}})");
  CHECK(tokens_of("Hello xhellox") == Tokens{"Hello", "[UNK]", "hello", "[UNK]"});
  CHECK(load_tokenizer(folder.path())->model_max_length() == 512);
  test::write_file(folder / "tokenizer_config.json", R"({"do_lower_case": "no"})");
  CHECK_THROWS_WITH(load_tokenizer(folder.path()), Contains("do_lower_case is \"no\"; accepted: true, false"));
  test::write_file(folder / "added_tokens.json", "{}");
  CHECK_THROWS_WITH(load_tokenizer(folder.path()), Contains("added_tokens.json is not read beside vocab.txt"));
}

TEST_CASE("load_tokenizer names what a damaged tokenizer.json has", "[text]") {
  if (!test::has_unicode()) return;
  const auto text = test::read_json("tokenizers.json").at("added")[0].at("json").get<std::string>();
  const test::TemporaryFolder folder;
  const std::string path = folder / "tokenizer.json";
  CHECK_THROWS_WITH(load_tokenizer(path), Contains("tokenizer.json cannot be read: "));
  CHECK_THROWS_WITH(load_tokenizer(folder.path()), Contains("has no tokenizer; accepted: a folder with "));
  for (size_t size = 0; size < text.size(); size += 97) {
    test::write_file(path, text.substr(0, size));
    CHECK_THROWS_WITH(load_tokenizer(path), Contains("tokenizer.json is not valid JSON: "));
  }
  test::write_file(path, "[]");
  CHECK_THROWS_WITH(load_tokenizer(path), Contains("tokenizer.json is []; accepted: a JSON object"));
  const auto says = [&](const char* pointer, const Json& value, const std::string& words) {
    Json json = Json::parse(text);
    json[Json::json_pointer(pointer)] = value;
    test::write_file(path, json.dump());
    INFO(pointer);
    CHECK_THROWS_WITH(load_tokenizer(folder.path()), Contains("tokenizer.json") && Contains(words));
  };
  says("/model", nullptr, "model is null; accepted: an object");
  says("/model/type", "Unigram", ".model.type is \"Unigram\"; accepted: ");
  says("/model/type", 7, "accepted: strings");
  says("/model/vocab", Json::array(), ".model.vocab is []; accepted: an object");
  says("/model/vocab/a", 6, "accepted: each number from 0 to ");
  says("/model/vocab/a", -1, "\"a\" has the number -1");
  says("/model/vocab/a", 1e6, ".model.vocab.a is 1000000.0; accepted: integers");
  says("/model/vocab/a", uint64_t(1) << 63, "accepted: integers of 64 bits");
  says("/model/unk_token", "[none]", "none of which is [none]");
  says("/model/unk_token", nullptr, ".model.unk_token is null; accepted: strings");
  says("/model/max_input_chars_per_word", -1, "max_input_chars_per_word is -1; accepted: 0 or more");
  says("/normalizer/type", "Lowercase", ".normalizer.type is \"Lowercase\"; accepted: BertNormalizer");
  says("/normalizer/lowercase", 1, ".normalizer.lowercase is 1; accepted: true, false");
  says("/pre_tokenizer", nullptr, ".pre_tokenizer is null; accepted: an object");
  says("/pre_tokenizer/type", "ByteLevel", "accepted: BertPreTokenizer");
  says("/decoder/type", "ByteLevel", "accepted: WordPiece");
  says("/decoder/prefix", "@@", "accepted: the model's continuing_subword_prefix");
  says("/post_processor/type", "RobertaProcessing", "accepted: BertProcessing, TemplateProcessing");
  says("/post_processor/single/0/SpecialToken/type_id", 1, "accepted: BERT's template");
  says("/post_processor/pair/1/Sequence/id", "B", "accepted: BERT's template");
  says("/post_processor/special_tokens/[CLS]/ids/0", 4, "post_processor gives [CLS] the number 4; accepted: 2");
  says("/added_tokens/0/id", 3, "added_tokens gives [PAD] the number 3; accepted: 0");
  says("/added_tokens/5/content", "", "content is \"\"; accepted: strings that are not empty");
  says("/added_tokens/12/id", 100, "added_tokens gives Café the number 100; accepted: 47");
  says("/added_tokens/5", Json::object(), "has no \"content\"");
  const Json padding = {{"direction", "Right"}, {"pad_type_id", 0}, {"pad_id", 0}, {"pad_token", "[PAD]"}};
  Json left = padding, number = padding;
  left["direction"] = "Left";
  number["pad_id"] = 1;
  says("/padding", left, ".padding.direction is \"Left\"; accepted: Right");
  says("/padding", number, "padding gives [PAD] the number 1; accepted: 0");
  says("/truncation", {{"max_length", 8}, {"strategy", "OnlyFirst"}}, "accepted: LongestFirst");
  says("/truncation", {{"max_length", 1}, {"strategy", "LongestFirst"}}, "max_length is 1; accepted: 2 or more");

  Json json = Json::parse(text);
  json["truncation"] = {{"max_length", 8}, {"strategy", "LongestFirst"}};
  json["padding"] = padding;
  test::write_file(path, json.dump());
  CHECK(load_tokenizer(path)->model_max_length() == 8);
}

TEST_CASE("save refuses vocabularies that the files could not hold", "[text]") {
  if (!test::has_unicode()) return;
  const test::TemporaryFolder folder;
  const auto says = [&](const std::string& token, const std::string& words) {
    const BertTokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", token}, {}, "the test");
    CHECK_THROWS_WITH(tokenizer.save(folder / "saved"), Contains(words));
  };
  says("a\nb", "because it contains a line end");
  says("[SEP]", "1 tokens occur twice");
  says("\xff", "because a token is not UTF-8");
  const BertTokenizer tokenizer({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, {}, "the test");
  test::write_file(folder / "file", "");
  CHECK_THROWS_WITH(tokenizer.save(folder / "file/below"), Contains("file/below/tokenizer.json"));
}

}  // namespace tandem
