// Tests `tandem tokenize`: training, encoding to token files, and the tokens of a text.
#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/text/has_unicode.h"
#include "tandem/text/gpt2_tokenizer.h"
#include "tandem/text/token_file.h"
#include "tandem/text/train_bpe.h"
#include "tandem/tools/tokenize/tokenize.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using Ids = std::vector<int64_t>;

std::string tokenize_output(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tokenize");
  const Result result = run_program(kCommand, arguments);
  INFO(result.output);
  CHECK(result.status == 0);
  return result.output;
}
Ids read_tokens(const std::string& path) {
  const text::TokenFile file(path);
  return file.read(0, file.size());
}

}  // namespace

TEST_CASE("tokenize trains a tokenizer, encodes files with it, and shows tokens", "[command][tokenize]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string a = folder / "a.txt", b = folder / "b.txt", t = folder / "t", tokens = folder / "tokens.bin";
  write_file(a, "the cat and the hat\n\nthe cat sat\n");
  write_file(b, "the hat");
  CHECK(tokenize_output({"--train", a, b, "--vocab-size", "262", "--output", t}) == t + ": 262 tokens, 5 merges\n");
  const auto tokenizer = text::load_gpt2_tokenizer(t);
  CHECK(tokenizer->vocabulary().merges ==
        text::train_bpe_from_files({a, b}, text::BpeTrainerOptions().vocab_size(262)).vocabulary().merges);
  CHECK_THAT(tokenize_output({"--train", a, "--vocab-size", "5000", "--output", folder / "t2"}),
             Contains("no other pair of tokens occurs 2 times in the files"));

  const Ids ids_a = tokenizer->tokenize_to_ids(read_file(a)), ids_b = tokenizer->tokenize_to_ids(read_file(b));
  Ids all = ids_a;
  all.insert(all.end(), ids_b.begin(), ids_b.end());
  const std::string output = tokenize_output({"--tokenizer", t, a, b, "--output", tokens});
  CHECK_THAT(output, Contains("2 files, 40 bytes, " + std::to_string(all.size()) + " tokens: ") &&
                         Contains(tokens + ": " + std::to_string(all.size()) + " tokens\n"));
  CHECK(read_tokens(tokens) == all);
  CHECK(text::TokenFile(tokens).vocab_size() == 262);

  tokenize_output({"--tokenizer", t, a, b, "--output", tokens, "--split", "0.5,0.25,0.25", "--end-of-text"});
  Ids with_ends = ids_a, parts;
  with_ends.push_back(0);
  with_ends.insert(with_ends.end(), ids_b.begin(), ids_b.end());
  with_ends.push_back(0);
  for (const char* part : {"tokens_train.bin", "tokens_val.bin", "tokens_test.bin"}) {
    const Ids read = read_tokens(folder / part);
    parts.insert(parts.end(), read.begin(), read.end());
  }
  CHECK(parts == with_ends);
  CHECK(text::TokenFile(folder / "tokens_train.bin").size() == static_cast<int64_t>(with_ends.size() / 2));

  const auto the = tokenizer->convert_tokens_to_ids("the");
  REQUIRE(the);
  CHECK(tokenize_output({"--tokenizer", t, "--text", "the!<|endoftext|>"}) ==
        std::to_string(*the) + "  the\n1  !\n0  <|endoftext|>\n");
  std::string list;
  for (const int64_t id : ids_b) list += (list.empty() ? "" : ",") + std::to_string(id);
  CHECK(tokenize_output({"--tokenizer", t, "--ids", list}) == "the hat\n");
  const Result wrong = run_program(kCommand, {"tokenize", "--tokenizer", t, "--ids", "262"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.output, Contains("262; accepted: 0 to 261"));
}

TEST_CASE("tokenize encodes the parts of a file as it encodes the whole file", "[command][tokenize]") {
  if (!has_unicode()) return;
  std::string text;
  while (text.size() < 1500000) text += "  the cat's\u00e9\n\u00a0\n\n x\t \nand the \u4f60\n<|endoftext|>\n 12\r\n";
  const text::GPT2Tokenizer tokenizer =
      text::train_bpe({text.substr(0, 10000)}, text::BpeTrainerOptions().vocab_size(300));
  CHECK(tools::tokenize::encode_on_threads(tokenizer, text) == tokenizer.tokenize_to_ids(text));
  CHECK(tools::tokenize::encode_on_threads(tokenizer, "").empty());
}

TEST_CASE("tokenize names the files of --split after the token file", "[command][tokenize]") {
  CHECK(tools::tokenize::split_paths("a/tokens.bin", 3) ==
        std::vector<std::string>{"a/tokens_train.bin", "a/tokens_val.bin", "a/tokens_test.bin"});
  CHECK(tools::tokenize::split_paths("tokens", 2) == std::vector<std::string>{"tokens_train", "tokens_val"});
}
