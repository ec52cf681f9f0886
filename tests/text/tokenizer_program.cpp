// Program for comparisons with other tokenizers: encodes texts from standard input, and prints what encode() returns.
//   tokenizer_program TOKENIZER             reads JSON lines, each {"text", "pair", "max_length", "truncation"} or
//   {"ids"} tokenizer_program TOKENIZER SECONDS     reads lines of text, encodes them for some seconds on one thread,
//   and prints
//                                           the lines encoded in a second of processor time
//   tokenizer_program TOKENIZER save FOLDER saves the tokenizer into a folder
// TOKENIZER is a folder or a tokenizer.json. In a printed line, spaces are between numbers, and tabs between lists.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/text/tokenizer.h"

namespace {

using tandem::text::Tokenizer;

void append(std::string& out, const std::vector<int64_t>& list) {
  for (size_t i = 0; i < list.size(); ++i) (out += i ? " " : "") += std::to_string(list[i]);
}

std::string answer(const Tokenizer& tokenizer, const nlohmann::json& question) {
  if (question.contains("ids"))
    return nlohmann::json(tokenizer.decode(question.at("ids"), question.value("skip_special_tokens", false))).dump();
  tandem::text::EncodeOptions options;
  options.truncation(question.value("truncation", "longest_first"));
  options.add_special_tokens(question.value("add_special_tokens", true));
  options.max_length(question.value("max_length", int64_t(1) << 30));
  const std::string text = question.at("text"), pair = question.value("pair", "");
  const bool has_pair = question.contains("pair");
  const auto encoding =
      tokenizer.encode(text, has_pair ? std::optional<std::string_view>(pair) : std::nullopt, options);
  std::string out;
  append(out, encoding.ids);
  append(out += '\t', encoding.type_ids);
  append(out += '\t', encoding.attention_mask);
  append(out += '\t', encoding.special_tokens_mask);
  return out;
}

void measure(const Tokenizer& tokenizer, double seconds) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  const auto processor_time = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double begin = processor_time();
  size_t encoded = 0, tokens = 0;
  double passed = 0;
  while (!lines.empty() && passed < seconds) {
    for (const std::string& line : lines) tokens += tokenizer.encode(line).ids.size();
    encoded += lines.size();
    passed = processor_time() - begin;
  }
  std::printf("%.0f lines/s, %.0f tokens/s\n", static_cast<double>(encoded) / passed,
              static_cast<double>(tokens) / passed);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: tokenizer_program TOKENIZER [SECONDS | save FOLDER]\n"), 2;
  const auto tokenizer = tandem::text::load_tokenizer(argv[1]);
  if (argc == 4) return tokenizer->save(argv[3]), 0;
  if (argc == 3) return measure(*tokenizer, std::stod(argv[2])), 0;
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(*tokenizer, nlohmann::json::parse(line)) << '\n';
    } catch (const tandem::Error& e) {
      std::cout << "error: " << e.msg() << '\n';
    }
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "tokenizer_program: %s\n", e.what());
  return 1;
}
