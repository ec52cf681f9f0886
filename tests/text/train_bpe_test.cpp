// Tests train_bpe against Hugging Face's BpeTrainer (fixtures/bpe.json).
#include "tandem/text/train_bpe.h"

#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/text/bpe_fixture.h"
#include "tandem/tests/text/has_unicode.h"

namespace tandem {
using text::BpeTrainerOptions, text::GPT2Tokenizer, text::train_bpe, text::train_bpe_from_files;
using Merges = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("train_bpe finds the merges of Hugging Face's BpeTrainer, in the same order", "[text]") {
  if (!test::has_unicode()) return;
  const nlohmann::json fixture = test::read_json("bpe.json");
  BpeTrainerOptions options;
  options.vocab_size(fixture.at("vocab_size")).min_frequency(2);
  options.special_tokens(fixture.at("special").get<std::vector<std::string>>());
  const auto text = fixture.at("text").get<std::string>();
  const GPT2Tokenizer tokenizer = train_bpe({text}, options);
  CHECK(tokenizer.vocabulary().merges == fixture.at("merges").get<Merges>());
  CHECK(tokenizer.vocabulary().tokens == test::bpe_vocabulary(fixture, "merges").tokens);
  CHECK(tokenizer.vocab_size() == 1000);
  CHECK(tokenizer.eos_token_id() == 0);
  CHECK(tokenizer.is_special(1));
  CHECK(train_bpe({text}, options.add_prefix_space(true)).vocabulary().merges ==
        fixture.at("merges_with_prefix_space").get<Merges>());
}

TEST_CASE("train_bpe reads files line by line, and stops at pairs that are too rare", "[text]") {
  if (!test::has_unicode()) return;
  const nlohmann::json fixture = test::read_json("bpe.json");
  const test::TemporaryFolder folder;
  const auto text = fixture.at("text").get<std::string>();
  test::write_file(folder / "whole", text);
  const size_t half = text.find('\n', text.size() / 2) + 1;
  test::write_file(folder / "first", text.substr(0, half));
  test::write_file(folder / "second", text.substr(half));
  BpeTrainerOptions options;
  options.vocab_size(100000).min_frequency(fixture.at("file_min_frequency"));
  const auto expected = fixture.at("file_merges").get<Merges>();
  CHECK(train_bpe_from_files({folder / "whole"}, options).vocabulary().merges == expected);
  CHECK(train_bpe_from_files({folder / "first", folder / "second"}, options).vocabulary().merges == expected);
  CHECK_THROWS_WITH(train_bpe_from_files({folder / "none"}, options),
                    Contains("train_bpe") && Contains("none") && Contains("No such file"));
  CHECK_THROWS_WITH(train_bpe_from_files({folder.path()}, options),
                    Contains("is not a file; accepted: a regular file"));
}

TEST_CASE("a trained tokenizer is saved and loaded, as docs/tokenizers.md shows", "[text]") {
  if (!test::has_unicode()) return;
  const test::TemporaryFolder temporary;
  const std::string corpus = temporary / "corpus.txt", folder = temporary / "tokenizer";
  test::write_file(corpus, "Hello world\nHello Hello world\n");
  text::BpeTrainerOptions options;
  options.vocab_size(8192).min_frequency(2).special_tokens({"<|endoftext|>"});
  const text::GPT2Tokenizer trained = text::train_bpe_from_files({corpus}, options);
  trained.save(folder);
  const auto tokenizer = text::load_tokenizer(folder);
  const std::vector<int64_t> ids = tokenizer->tokenize_to_ids("Hello world<|endoftext|>");
  const std::string decoded = tokenizer->decode(ids);  // "Hello world<|endoftext|>"
  CHECK(decoded == "Hello world<|endoftext|>");
  CHECK(tokenizer->tokenize("Hello world<|endoftext|>") ==
        std::vector<std::string>{"Hello", "Ġworld", "<|endoftext|>"});
}

TEST_CASE("train_bpe merges the pair with the smallest numbers among equally frequent ones", "[text]") {
  if (!test::has_unicode()) return;
  BpeTrainerOptions options;
  options.special_tokens({}).vocab_size(260);
  // "ba" comes first in the text, but "ab", whose tokens have smaller numbers, is as frequent.
  CHECK(train_bpe({"ba ab ba ab"}, options).vocabulary().merges[0] == std::pair<std::string, std::string>("a", "b"));
  // Overlapping pairs: "aaaa" becomes two tokens.
  const GPT2Tokenizer tokenizer = train_bpe({"aaaa", "aaaa"}, options.vocab_size(257));
  CHECK(tokenizer.tokenize("aaaaa") == std::vector<std::string>{"aa", "aa", "a"});
  CHECK(tokenizer.eos_token_id() == std::nullopt);
  CHECK(train_bpe({}, options).vocab_size() == 256);
  const test::TemporaryFolder folder;
  options.special_tokens({"\xff"});
  CHECK_THROWS_WITH(train_bpe({}, options).save(folder.path()), Contains("a token is not UTF-8"));
}

TEST_CASE("train_bpe refuses options without a meaning", "[text]") {
  if (!test::has_unicode()) return;
  const auto error = [](const BpeTrainerOptions& options) {
    try {
      train_bpe({"a"}, options);
    } catch (const Error& e) {
      return e.msg();
    }
    return std::string("no error");
  };
  CHECK(error(BpeTrainerOptions().vocab_size(256)) ==
        "train_bpe: vocab_size is 256; accepted: 257, for 1 special tokens and 256 bytes, to 2^31 - 2");
  CHECK_THAT(error(BpeTrainerOptions().min_frequency(0)), Contains("min_frequency is 0; accepted: 1 or more"));
  CHECK_THAT(error(BpeTrainerOptions().special_tokens({"x", ""})), Contains("special token 1 is \"\""));
  CHECK_THAT(error(BpeTrainerOptions().special_tokens({"<x>", "<x>"})), Contains("special token 1 is \"<x>\""));
}

}  // namespace tandem
