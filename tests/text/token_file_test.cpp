// Tests of TokenFile, TokenFileWriter and TokenWindows.
#include <filesystem>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/mistakes.h"
#include "tandem/tests/temporary.h"
#include "tandem/text/token_windows.h"
#include "tandem/train/data_source.h"

using namespace tandem;
using text::TokenFile;
using text::TokenFileWriter;
using text::TokenWindows;
using text::TokenWindowsOptions;
using Tokens = std::vector<int64_t>;

namespace {

void write_tokens(const std::string& path, const Tokens& tokens, int64_t vocab_size) {
  TokenFileWriter writer(path, vocab_size);
  writer.append(tokens);
  writer.finish();
}
Tokens count_up(int64_t count) {
  Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(i);
  return tokens;
}
Tokens values(const Tensor& t) {
  const Tensor list = t.contiguous();
  return {list.data<int64_t>(), list.data<int64_t>() + list.numel()};
}

}  // namespace

TEST_CASE("tokens are stored in 2 bytes if the vocabulary allows, else in 4, and read back", "[text]") {
  const test::TemporaryFolder folder;
  write_tokens(folder / "small", {0, 258, 65535}, 65536);
  // The header and the tokens, byte by byte, from the description in token_file.h. FNV-1a of 00 00 02 01 ff ff.
  uint64_t sum = 0xcbf29ce484222325;
  for (const unsigned byte : {0x00, 0x00, 0x02, 0x01, 0xff, 0xff}) sum = (sum ^ byte) * 0x100000001b3;
  std::string expected("TDTOKENS\1\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0", 32);
  for (int i = 0; i < 8; ++i) expected += static_cast<char>(sum >> (8 * i));
  expected += std::string("\x00\x00\x02\x01\xff\xff", 6);
  CHECK(test::read_file(folder / "small") == expected);
  const TokenFile small(folder / "small");
  CHECK(small.read(0, 3) == Tokens{0, 258, 65535});
  CHECK(small.read(3, 0).empty());
  small.verify();

  write_tokens(folder / "large", {65536, 1}, 65537);
  const TokenFile large(folder / "large");
  CHECK(large.vocab_size() == 65537);
  CHECK(large.read(0, 2) == Tokens{65536, 1});
  CHECK(std::filesystem::file_size(folder / "large") == 48);

  TokenFileWriter parts(folder / "parts", 5'000'000);  // more than one buffer
  Tokens all;
  for (int64_t i = 0; i < 30; ++i) {
    Tokens part;
    for (int64_t k = 0; k < 10'007; ++k) part.push_back((i * 10'007 + k) * 7919 % 5'000'000);
    parts.append(part);
    all.insert(all.end(), part.begin(), part.end());
  }
  CHECK(folder.count() == 3);  // the third is temporary
  CHECK_FALSE(std::filesystem::exists(folder / "parts"));
  parts.finish();
  const TokenFile read(folder / "parts");
  read.verify();
  CHECK(read.read(0, read.size()) == all);
}

TEST_CASE("a writer that does not finish leaves the earlier file", "[text]") {
  const test::TemporaryFolder folder;
  write_tokens(folder / "tokens", {1, 2}, 10);
  {
    TokenFileWriter writer(folder / "tokens", 10);
    writer.append({3});
  }
  CHECK(TokenFile(folder / "tokens").read(0, 2) == Tokens{1, 2});
  CHECK(folder.count() == 1);
}

TEST_CASE("damaged token files, and tokens outside of the vocabulary, are refused", "[text]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "tokens";
  write_tokens(path, {0, 1, 99}, 100);
  const std::string good = test::read_file(path);
  const auto open = [&](std::string bytes) {
    test::write_file(path, bytes);
    return TokenFile(path);
  };
  const auto changed = [&](size_t at, char to) {
    std::string bytes = good;
    bytes[at] = to;
    return bytes;
  };
  test::check({
      {"truncated", [&] { open(good.substr(0, good.size() - 1)); }, {path, "5 bytes", "3 tokens"}},
      {"a token is missing", [&] { open(good.substr(0, good.size() - 2)); }, {path, "truncated"}},
      {"too long", [&] { open(good + "xx"); }, {path, "damaged"}},
      {"no header", [&] { open("TDTOKENS"); }, {path, "8 bytes", "40"}},
      {"an empty file", [&] { open(""); }, {path, "0 bytes"}},
      {"another file", [&] { open(changed(0, 'x')); }, {path, "does not begin with TDTOKENS"}},
      {"another version", [&] { open(changed(8, 2)); }, {"version 2", "accepted: 1"}},
      {"another size of tokens", [&] { open(changed(12, 4)); }, {"4 bytes per token", "accepted: 2"}},
      {"a number of tokens that overflows", [&] { open(changed(23, '\x80')); }, {"tokens of 2 bytes"}},
      {"no vocabulary", [&] { open(changed(24, 0)); }, {"a vocabulary of 0"}},
      {"a token past the vocabulary",
       [&] { open(changed(44, 100)).read(2, 1); },
       {path, "100 at position 2", "less than 100"}},
      {"a changed token", [&] { open(changed(42, 2)).verify(); }, {path, "checksum"}},
      {"positions past the end", [&] { open(good).read(1, 3); }, {"no tokens 1", "3 tokens"}},
      {"a negative position", [&] { open(good).read(-1, 1); }, {"no tokens -1"}},
      {"a token that is too large to write",
       [&] {
         write_tokens(path, {1, 100}, 100);
       },
       {"token 1 is 100", "0 to 99"}},
      {"a negative token", [&] { write_tokens(path, {-1}, 100); }, {"token 0 is -1"}},
      {"no tokens", [&] { write_tokens(path, {}, 100); }, {"0 tokens"}},
      {"an empty vocabulary", [&] { write_tokens(path, {}, 0); }, {"vocab_size is 0"}},
  });
}

TEST_CASE("windows of an epoch predict each token once, and random windows follow from seed and epoch", "[text]") {
  const test::TemporaryFolder folder;
  write_tokens(folder / "tokens", count_up(100), 100);
  const TokenFile file(folder / "tokens");
  TokenWindows windows(file, TokenWindowsOptions().block_size(8));
  CHECK(windows.size() == 12);  // 12 * 8 + 1 <= 100
  CHECK(values(windows.get(11).data) == Tokens{88, 89, 90, 91, 92, 93, 94, 95});
  CHECK(values(windows.get(11).target) == Tokens{89, 90, 91, 92, 93, 94, 95, 96});
  TokenWindows overlapping(file, TokenWindowsOptions().block_size(8).stride(1).begin(90).end(-1));
  CHECK(overlapping.size() == 1);
  CHECK(values(overlapping.get(0).target).back() == 98);
  CHECK_THROWS_WITH(TokenWindows(file, TokenWindowsOptions().block_size(100)), Contains("100 + 1 tokens"));
  CHECK_THROWS_WITH(TokenWindows(file, TokenWindowsOptions().block_size(8).begin(95)), Contains("from 95 to 100"));
  CHECK_THROWS_WITH(TokenWindows(file, TokenWindowsOptions().block_size(0)), Contains("block_size is 0"));
  CHECK_THROWS_WITH(windows.get(12), Contains("no window 12"));

  // A training on two ranks sees the windows of one rank.
  const auto random = train::DataSource(TokenWindows(file, TokenWindowsOptions().block_size(8).random_positions(true)))
                          .batch_size(4)
                          .shuffle(true);
  const auto epochs = [&](int rank, int ranks) {
    std::vector<Tokens> batches;
    manual_seed(3);
    const auto source = random.open({.rank = rank, .ranks = ranks, .seed = 3});
    for (const size_t epoch : {0, 1}) {
      source->begin_epoch(epoch);
      while (auto batch = source->next()) batches.push_back(values(batch->get<data::Example<>>().data));
      source->end_epoch();
    }
    return batches;
  };
  const std::vector<Tokens> whole = epochs(0, 1), first = epochs(0, 2), second = epochs(1, 2);
  REQUIRE(whole.size() == 6);
  for (size_t i = 0; i < whole.size(); ++i) {
    Tokens joined = first.at(i);
    joined.insert(joined.end(), second.at(i).begin(), second.at(i).end());
    CHECK(joined == whole[i]);
  }
  CHECK(whole[0] != whole[3]);
  CHECK(epochs(0, 1) == whole);
}
