// Implements `tandem tokenize`.
#include "tandem/tools/tokenize/tokenize.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tandem/text/token_file.h"
#include "tandem/text/train_bpe.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::tokenize {
namespace {

constexpr const char* kParts[] = {"train", "val", "test"};

void check(bool condition, const std::string& message) { check_usage(condition, message); }

void check_settings(const Settings& s) {
  const int actions = s.train + s.has_text + !s.ids.empty();
  check(actions <= 1, "only one of --train, --text and --ids may be given");
  if (s.has_text || !s.ids.empty()) {
    check(!s.tokenizer.empty(), "--tokenizer is required with --text and --ids: the folder of the tokenizer");
    check(s.files.empty(), "--text and --ids take no FILES");
    check(s.output.empty() && s.split.empty() && !s.end_of_text,
          "--output, --split and --end-of-text are for FILES, not for --text and --ids");
    return;
  }
  check(!s.files.empty(), "FILES are required, or --text, or --ids");
  check(!s.output.empty(), s.train ? "--output is required: the folder to save the tokenizer in"
                                   : "--output is required: the token file to write");
  if (s.train) {
    check(s.tokenizer.empty(), "--tokenizer is for encoding; --train makes a new tokenizer");
    check(s.split.empty() && !s.end_of_text, "--split and --end-of-text are for encoding, not for --train");
    return;
  }
  check(!s.tokenizer.empty(), "--tokenizer is required to encode: the folder of the tokenizer");
  double sum = 0;
  for (const double share : s.split) sum += share;
  check(s.split.empty() || ((s.split.size() == 2 || s.split.size() == 3) && std::abs(sum - 1) < 1e-6),
        "--split needs two or three shares whose sum is 1, such as 0.9,0.1");
}

void train(const Settings& s) {
  std::error_code error;
  std::filesystem::create_directories(s.output, error);
  check(!error, "--output " + s.output + " cannot be created: " + error.message());
  rethrow_as_usage_error([&] {
    const text::GPT2Tokenizer tokenizer = text::train_bpe_from_files(s.files, text::BpeTrainerOptions()
                                                                                  .vocab_size(s.vocab_size)
                                                                                  .min_frequency(s.min_frequency)
                                                                                  .special_tokens(s.special_tokens));
    tokenizer.save(s.output);
    std::printf("%s: %lld tokens, %zu merges\n", s.output.c_str(), static_cast<long long>(tokenizer.vocab_size()),
                tokenizer.vocabulary().merges.size());
    if (tokenizer.vocab_size() < s.vocab_size)
      std::printf("no other pair of tokens occurs %lld times in the files\n", static_cast<long long>(s.min_frequency));
    return 0;
  });
}

/// Writes consecutive shares of the tokens to the files.
void write_parts(const std::vector<int64_t>& tokens, const std::vector<double>& shares,
                 const std::vector<std::string>& paths, int64_t vocab_size) {
  double share = 0;
  size_t begin = 0;
  std::vector<std::unique_ptr<text::TokenFileWriter>> writers;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < paths.size(); ++i) {
    share += shares[i];
    const size_t end =
        i + 1 == paths.size() ? tokens.size() : static_cast<size_t>(share * static_cast<double>(tokens.size()));
    check(end > begin, "the share of " + paths[i] + " has no tokens; accepted: a larger share, or more text");
    writers.push_back(std::make_unique<text::TokenFileWriter>(paths[i], vocab_size));
    writers.back()->append(
        {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)});
    sizes.push_back(end - begin);
    begin = end;
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    writers[i]->finish();
    std::printf("%s: %zu tokens\n", paths[i].c_str(), sizes[i]);
  }
}

void encode(const Settings& s, const text::Tokenizer& tokenizer) {
  const std::vector<std::string> paths =
      s.split.empty() ? std::vector<std::string>{s.output} : split_paths(s.output, s.split.size());
  for (const std::string& path : paths) check_can_write("--output", path);
  const std::optional<int64_t> end = tokenizer.eos_token_id();
  check(!s.end_of_text || end, "--end-of-text: the tokenizer in " + s.tokenizer + " has no end-of-text token");
  std::vector<int64_t> tokens;
  size_t bytes = 0;
  for (const std::string& file : s.files) {
    const std::string text =
        rethrow_as_usage_error([&] { return text::detail::read_text_file("tandem tokenize", file); });
    bytes += text.size();
    const std::vector<int64_t> ids = encode_on_threads(tokenizer, text);
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    if (s.end_of_text) tokens.push_back(*end);
  }
  check(!tokens.empty(), "the files have no tokens");
  std::printf("%zu %s, %zu bytes, %zu tokens: %.2f bytes per token\n", s.files.size(),
              s.files.size() == 1 ? "file" : "files", bytes, tokens.size(),
              static_cast<double>(bytes) / static_cast<double>(tokens.size()));
  write_parts(tokens, s.split.empty() ? std::vector<double>{1} : s.split, paths, tokenizer.vocab_size());
}

}  // namespace

std::vector<std::string> split_paths(const std::string& output, size_t count) {
  const std::filesystem::path path(output);
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back((path.parent_path() / (path.stem().string() + "_" + kParts[i] + path.extension().string())).string());
  return out;
}

void tokenize(const Settings& s) {
  check_settings(s);
  if (s.train) return train(s);
  const auto tokenizer = rethrow_as_usage_error([&] { return text::load_tokenizer(s.tokenizer); });
  if (s.has_text) {
    for (const int64_t id : tokenizer->tokenize_to_ids(s.text))
      std::printf("%lld  %s\n", static_cast<long long>(id), tokenizer->convert_ids_to_tokens(id).c_str());
    return;
  }
  if (!s.ids.empty()) {
    const std::string text = rethrow_as_usage_error([&] { return tokenizer->decode(s.ids); });
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::printf("\n");
    return;
  }
  encode(s, *tokenizer);
}

}  // namespace tandem::tools::tokenize
