// Reads and writes the files of byte-level BPE with nlohmann/json.
#include "tandem/text/bpe_vocabulary.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"
#include "tandem/serialize/file.h"

namespace tandem::text::detail {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keeps the order of keys

namespace {

std::string print(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json read_json(const std::string& path) {
  const std::string text = read_text_file("GPT2Tokenizer", path);
  try {
    Json json = Json::parse(text);
    TANDEM_CHECK(json.is_object(), path, " is not a JSON object, the accepted value");
    return json;
  } catch (const Json::exception& e) {
    TANDEM_FAIL(path, " is not valid JSON: ", e.what());
  }
}
/// Returns a member of an object; null if there is no such member.
const Json& member(const Json& json, const char* key) {
  static const Json null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

/// Collects tokens by ID. IDs must be the numbers from 0 to the number of tokens, without gaps.
class TokenList {
 public:
  explicit TokenList(std::string path) : path_(std::move(path)) {}
  /// Adds a vocabulary: an object with an ID for each token.
  void add_vocabulary(const Json& vocabulary) {
    TANDEM_CHECK(vocabulary.is_object(), path_, ": the vocabulary is not an object; accepted: IDs by token");
    for (const auto& [token, id] : vocabulary.items()) {
      TANDEM_CHECK(id.is_number_integer(), path_, ": the token \"", token, "\" has the ID ", print(id),
                   "; accepted: an integer");
      entries_.emplace_back(id.get<int64_t>(), token);
    }
  }
  void add(int64_t id, const std::string& token) {
    for (const auto& entry : entries_)
      if (entry.first == id && entry.second == token) return;
    entries_.emplace_back(id, token);
  }
  /// Returns the tokens in the order of their IDs.
  std::vector<std::string> take() {
    std::sort(entries_.begin(), entries_.end());
    std::vector<std::string> out;
    out.reserve(entries_.size());
    for (auto& [id, token] : entries_) {
      const auto expected = static_cast<int64_t>(out.size());
      TANDEM_CHECK(id == expected, path_, ": the token \"", token, "\" has the ID ", id, ", but the next ID is ",
                   expected, "; accepted: IDs from 0 to ", entries_.size() - 1, ", each once");
      out.push_back(std::move(token));
    }
    return out;
  }

 private:
  std::string path_;
  std::vector<std::pair<int64_t, std::string>> entries_;
};

/// Splits "left right". @throws Error unless there is exactly one space
std::pair<std::string, std::string> parse_merge(const std::string& line, const std::string& path, size_t number,
                                                const char* unit) {
  const size_t space = line.find(' ');
  TANDEM_CHECK(space != std::string::npos && line.find(' ', space + 1) == std::string::npos && space > 0 &&
                   space + 1 < line.size(),
               path, ": ", unit, ' ', number, " is \"", line, "\"; accepted: two tokens with a space between them");
  return {line.substr(0, space), line.substr(space + 1)};
}
std::vector<std::pair<std::string, std::string>> read_merges(const std::string& path) {
  std::istringstream file(read_text_file("GPT2Tokenizer", path));
  std::vector<std::pair<std::string, std::string>> merges;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.rfind("#version", 0) != 0) merges.push_back(parse_merge(line, path, number, "line"));
  }
  return merges;
}

}  // namespace

std::string read_text_file(const char* op, const std::string& path) {
  const FileSource file(op, path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

BpeVocabulary read_vocabulary_and_merges(const std::string& vocab_file, const std::string& merges_file) {
  TokenList tokens(vocab_file);
  tokens.add_vocabulary(read_json(vocab_file));
  return {.tokens = tokens.take(), .merges = read_merges(merges_file), .added_tokens = {}};
}

namespace {

/// Reads the parts of a tokenizer.json, and refuses what GPT2Tokenizer does not have.
class TokenizerJson {
 public:
  explicit TokenizerJson(const std::string& path) : path_(path), json_(read_json(path)) {}

  BpeVocabulary read(bool& add_prefix_space) {
    require(member(json_, "normalizer").is_null(), "normalizer", member(json_, "normalizer"), "null");
    add_prefix_space = read_pre_tokenizer(member(json_, "pre_tokenizer"));
    require_byte_level("decoder");
    if (!member(json_, "post_processor").is_null()) require_byte_level("post_processor");
    const Json& model = member(json_, "model");
    TANDEM_CHECK(model.is_object(), path_, ": model is ", print(model), "; accepted: an object");
    check_model(model);
    TokenList tokens(path_);
    tokens.add_vocabulary(member(model, "vocab"));
    BpeVocabulary out;
    out.added_tokens = read_added_tokens();
    for (const AddedToken& token : out.added_tokens) tokens.add(token.id, token.content);
    out.tokens = tokens.take();
    out.merges = read_merge_list(member(model, "merges"));
    return out;
  }

 private:
  void require(bool accepted, const std::string& name, const Json& value, const char* accepted_values) const {
    TANDEM_CHECK_AS(NotImplementedError, accepted, path_, ": ", name, " is ", print(value).substr(0, 300),
                    ", which GPT2Tokenizer does not implement; accepted: ", accepted_values);
  }
  void require_byte_level(const char* name) const {
    const Json& value = member(json_, name);
    require(value.is_object() && member(value, "type") == "ByteLevel", name, value, "the type ByteLevel");
  }
  bool boolean(const Json& json, const char* key, bool default_value) const {
    const Json& value = member(json, key);
    if (value.is_null()) return default_value;
    TANDEM_CHECK(value.is_boolean(), path_, ": ", key, " is ", print(value), "; accepted: true, false");
    return value.get<bool>();
  }
  bool read_pre_tokenizer(const Json& value) const {
    require(value.is_object() && member(value, "type") == "ByteLevel", "pre_tokenizer", value, "the type ByteLevel");
    require(boolean(value, "use_regex", true), "pre_tokenizer.use_regex", false, "true");
    return boolean(value, "add_prefix_space", true);
  }
  void check_model(const Json& model) const {
    const Json& type = member(model, "type");
    require(type.is_null() || type == "BPE", "model.type", type, "BPE");
    for (const char* key : {"dropout", "unk_token"})
      require(member(model, key).is_null(), std::string("model.") + key, member(model, key), "null");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = member(model, key);
      require(value.is_null() || value == "", std::string("model.") + key, value, "null");
    }
    for (const char* key : {"byte_fallback", "ignore_merges"})
      require(!boolean(model, key, false), std::string("model.") + key, true, "false");
  }
  std::vector<AddedToken> read_added_tokens() const {
    std::vector<AddedToken> out;
    const Json& list = member(json_, "added_tokens");
    if (list.is_null()) return out;
    TANDEM_CHECK(list.is_array(), path_, ": added_tokens is ", print(list).substr(0, 300), "; accepted: a list");
    for (const Json& token : list) {
      const bool valid = token.is_object() && member(token, "id").is_number_integer() &&
                         member(token, "content").is_string() && member(token, "content") != "";
      TANDEM_CHECK(valid, path_, ": an entry of added_tokens is ", print(token),
                   "; accepted: an object with an id and a content that is not empty");
      out.push_back({.content = member(token, "content").get<std::string>(),
                     .id = member(token, "id").get<int64_t>(),
                     .special = boolean(token, "special", false),
                     .normalized = boolean(token, "normalized", true),
                     .lstrip = boolean(token, "lstrip", false),
                     .rstrip = boolean(token, "rstrip", false),
                     .single_word = boolean(token, "single_word", false)});
    }
    return out;
  }
  std::vector<std::pair<std::string, std::string>> read_merge_list(const Json& list) const {
    TANDEM_CHECK(list.is_array(), path_, ": model.merges is ", print(list).substr(0, 300), "; accepted: a list");
    std::vector<std::pair<std::string, std::string>> out;
    out.reserve(list.size());
    for (const Json& merge : list) {
      if (merge.is_string()) {
        out.push_back(parse_merge(merge.get<std::string>(), path_, out.size() + 1, "merge"));
        continue;
      }
      TANDEM_CHECK(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(), path_,
                   ": merge ", out.size() + 1, " is ", print(merge).substr(0, 300),
                   "; accepted: \"left right\" or [\"left\", \"right\"]");
      out.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    }
    return out;
  }

  std::string path_;
  Json json_;
};

/// Reads a token of tokenizer_config.json: a string, or an object with the string as its content.
void read_token(const Json& json, const char* key, std::optional<std::string>& token, const std::string& path) {
  const Json& value = member(json, key);
  if (value.is_null()) return;
  const Json& content = value.is_object() ? member(value, "content") : value;
  TANDEM_CHECK(content.is_string(), path, ": ", key, " is ", print(value), "; accepted: a string");
  token = content.get<std::string>();
}

}  // namespace

BpeVocabulary read_bpe_tokenizer_json(const std::string& path, BpeSettings& settings) {
  return TokenizerJson(path).read(settings.add_prefix_space);
}

void read_bpe_tokenizer_config(const std::string& path, BpeSettings& settings) {
  const Json json = read_json(path);
  if (const Json& value = member(json, "add_prefix_space"); !value.is_null()) {
    TANDEM_CHECK(value.is_boolean(), path, ": add_prefix_space is ", print(value), "; accepted: true, false");
    settings.add_prefix_space = value.get<bool>();
  }
  if (const Json& value = member(json, "model_max_length"); !value.is_null()) {
    TANDEM_CHECK(value.is_number() && value.get<double>() >= 1, path, ": model_max_length is ", print(value),
                 "; accepted: 1 or more");
    // Hugging Face writes 1e30 for "no limit".
    settings.model_max_length = static_cast<int64_t>(std::min(value.get<double>(), 1e15));
  }
  read_token(json, "eos_token", settings.eos_token, path);
  read_token(json, "pad_token", settings.pad_token, path);
}

void write_bpe_files(const std::string& folder, const BpeVocabulary& vocabulary, const BpeSettings& settings) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TANDEM_CHECK(!error, "GPT2Tokenizer::save: the folder ", folder, " cannot be created: ", error.message());
  const auto write = [&](const char* name, const std::string& bytes) {
    FileSink file("GPT2Tokenizer::save", (std::filesystem::path(folder) / name).string());
    file.write(bytes.data(), bytes.size());
    file.commit();
  };
  OrderedJson vocab = OrderedJson::object(), merges = OrderedJson::array(), added_tokens = OrderedJson::array();
  // push_back: appends without searching the object for the key
  auto& entries = vocab.get_ref<OrderedJson::object_t&>();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) entries.emplace_back(vocabulary.tokens[id], id);
  std::string merges_txt = "#version: 0.2\n";
  for (const auto& [left, right] : vocabulary.merges) {
    merges.push_back({left, right});
    merges_txt.append(left).append(" ").append(right).append("\n");
  }
  for (const AddedToken& token : vocabulary.added_tokens)
    added_tokens.push_back({{"id", token.id},
                            {"content", token.content},
                            {"single_word", token.single_word},
                            {"lstrip", token.lstrip},
                            {"rstrip", token.rstrip},
                            {"normalized", token.normalized},
                            {"special", token.special}});
  const OrderedJson byte_level = {{"type", "ByteLevel"},
                                  {"add_prefix_space", settings.add_prefix_space},
                                  {"trim_offsets", true},
                                  {"use_regex", true}};
  OrderedJson post_processor = byte_level;
  post_processor["trim_offsets"] = false;
  const OrderedJson model = {{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false},
                             {"vocab", vocab},
                             {"merges", merges}};
  const OrderedJson tokenizer = {{"version", "1.0"},
                                 {"truncation", nullptr},
                                 {"padding", nullptr},
                                 {"added_tokens", added_tokens},
                                 {"normalizer", nullptr},
                                 {"pre_tokenizer", byte_level},
                                 {"post_processor", post_processor},
                                 {"decoder", byte_level},
                                 {"model", model}};
  OrderedJson config = {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", settings.add_prefix_space}};
  if (settings.model_max_length) config["model_max_length"] = *settings.model_max_length;
  if (settings.eos_token) {
    for (const char* key : {"bos_token", "eos_token", "unk_token"}) config[key] = *settings.eos_token;
  }
  if (settings.pad_token) config["pad_token"] = *settings.pad_token;
  try {
    write("vocab.json", vocab.dump());
    write("merges.txt", merges_txt);
    write("tokenizer_config.json", config.dump(2) + "\n");
    write("tokenizer.json", tokenizer.dump(2));
  } catch (const OrderedJson::exception& e) {
    TANDEM_FAIL("GPT2Tokenizer::save: a token is not UTF-8, so JSON cannot hold it: ", e.what());
  }
}

}  // namespace tandem::text::detail
