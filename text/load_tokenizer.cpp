// Implements load_tokenizer: finds the files of a tokenizer, and its kind.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/core/internal.h"
#include "tandem/serialize/json_file.h"
#include "tandem/text/bert_json.h"
#include "tandem/text/gpt2_tokenizer.h"

namespace tandem::text {
namespace {

using detail::JsonValue;
using Json = nlohmann::json;

std::string join_path(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}
bool file_exists(const std::string& path) { return std::filesystem::exists(path); }

/// Parses a JSON file, which must hold an object.
Json parse_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TANDEM_CHECK(file, "load_tokenizer: ", path, " cannot be read: ", std::strerror(errno));
  try {
    Json json = Json::parse(file);
    JsonValue(json, path).check(json.is_object(), "a JSON object");
    return json;
  } catch (const Json::exception& e) {
    TANDEM_FAIL("load_tokenizer: ", path, " is not valid JSON: ", e.what());
  }
}
/// A parsed JSON file that may be missing.
struct OptionalFile {
  explicit OptionalFile(const std::string& path) {
    if (!file_exists(path)) return;
    json = parse_file(path);
    value.emplace(json, path);
  }
  OptionalFile(const OptionalFile&) = delete;
  Json json;
  std::optional<JsonValue> value;
};

/// Returns whether a token that does not begin with "[", as special tokens do, has an ASCII capital letter.
bool has_capital_letters(const std::string& vocab_file) {
  std::ifstream file(vocab_file, std::ios::binary);
  for (std::string token; std::getline(file, token);)
    if (token[0] != '[' && std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
      return true;
  return false;
}

/// Loads a folder with vocab.txt: the older files of BERT's tokenizers.
std::shared_ptr<const Tokenizer> load_vocab_txt(const std::string& folder) {
  const std::string vocab = join_path(folder, "vocab.txt"), added = join_path(folder, "added_tokens.json");
  TANDEM_CHECK(!file_exists(added), "load_tokenizer: ", added,
               " is not read beside vocab.txt; accepted: tokenizer.json");
  const OptionalFile tokenizer_config(join_path(folder, "tokenizer_config.json"));
  const OptionalFile config(join_path(folder, "config.json"));
  BertTokenizerOptions o;
  bool is_case_known = false;
  for (const OptionalFile* file : {&config, &tokenizer_config}) {  // the second has the last word
    if (!file->value) continue;
    if (const auto lower = file->value->find("do_lower_case")) {
      o.do_lower_case(lower->boolean());
      is_case_known = true;
    }
  }
  if (tokenizer_config.value) detail::read_bert_config(*tokenizer_config.value, o);
  if (!is_case_known) {
    o.do_lower_case(!has_capital_letters(vocab));
    std::fprintf(stderr,
                 "tandem: warning: load_tokenizer: no file beside %s says do_lower_case; assumed %s. A "
                 "tokenizer_config.json can say it.\n",
                 vocab.c_str(),
                 o.do_lower_case() ? "uncased, because no token has a capital letter"
                                   : "cased, because tokens have capital letters");
  }
  return std::make_shared<BertTokenizer>(vocab, o);
}

/// Loads tokenizer.json, with the tokenizer_config.json beside it.
std::shared_ptr<const Tokenizer> load_tokenizer_json(const std::string& path) {
  const Json json = parse_file(path);
  const JsonValue file(json, path);
  const OptionalFile config((std::filesystem::path(path).parent_path() / "tokenizer_config.json").string());
  const JsonValue model = file.at("model");
  // Files of older versions have no type.
  if (const auto type = model.find("type"); type ? type->text() == "BPE" : model.find("merges").has_value())
    return load_gpt2_tokenizer(path);
  const JsonValue type = model.at("type");
  // One line for each kind of model.
  if (type.text() == "WordPiece") return detail::read_bert_json(file, config.value);
  type.check(false, "WordPiece, BPE");
  return nullptr;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return load_tokenizer_json(path);
  // One line for each kind of folder, the preferred one first.
  if (const std::string file = join_path(path, "tokenizer.json"); file_exists(file)) return load_tokenizer_json(file);
  if (file_exists(join_path(path, "vocab.txt"))) return load_vocab_txt(path);
  if (has_gpt2_vocabulary(path)) return load_gpt2_tokenizer(path);
  TANDEM_FAIL("load_tokenizer: ", path, " has no tokenizer; accepted: a folder with tokenizer.json, with vocab.txt, ",
              "with vocab.json and merges.txt, or with encoder.json and vocab.bpe");
}

}  // namespace tandem::text
