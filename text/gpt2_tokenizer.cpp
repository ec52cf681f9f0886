// Implements GPT2Tokenizer: checks and indexes the vocabulary, encodes text and decodes IDs.
#include "tandem/text/gpt2_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "tandem/core/internal.h"
#include "tandem/text/byte_level.h"
#include "tandem/text/merge_table.h"
#include "tandem/text/unicode.h"

namespace tandem::text {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

/// Reads a vocabulary and its merges, and adds the special tokens that the options name.
BpeVocabulary read_with_special_tokens(const std::string& vocab_file, const std::string& merges_file,
                                       const GPT2TokenizerOptions& options) {
  require_unicode_support("GPT2Tokenizer");
  BpeVocabulary vocabulary = read_vocabulary_and_merges(vocab_file, merges_file);
  const std::string eos_token = options.eos_token().value_or(kEndOfText);
  for (const std::string& token : {eos_token, options.pad_token().value_or(eos_token)}) {
    const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
    const bool is_new = std::none_of(vocabulary.added_tokens.begin(), vocabulary.added_tokens.end(),
                                     [&](const AddedToken& added) { return added.content == token; });
    if (found != vocabulary.tokens.end() && is_new && !token.empty())
      vocabulary.added_tokens.push_back({.content = token, .id = found - vocabulary.tokens.begin()});
  }
  return vocabulary;
}

}  // namespace

GPT2Tokenizer::GPT2Tokenizer(const std::string& vocab_file, const std::string& merges_file,
                             const GPT2TokenizerOptions& options)
    : GPT2Tokenizer(read_with_special_tokens(vocab_file, merges_file, options), options,
                    vocab_file + " and " + merges_file) {}

GPT2Tokenizer::GPT2Tokenizer(BpeVocabulary vocabulary, const GPT2TokenizerOptions& options, const std::string& source)
    : vocabulary_(std::move(vocabulary)), options_(options) {
  require_unicode_support("GPT2Tokenizer");
  TANDEM_CHECK(options_.model_max_length() >= 1, "GPT2Tokenizer: model_max_length is ", options_.model_max_length(),
               "; accepted: 1 or more");
  add_tokens(source);
  const std::vector<char> is_mergeable = add_merges(source);
  add_added_tokens(source, is_mergeable);
  add_one_token_words();
  eos_token_id_ = find_special_token(options_.eos_token(), "eos_token", source);
  if (!options_.eos_token()) eos_token_id_ = convert_tokens_to_ids(kEndOfText);
  pad_token_id_ = find_special_token(options_.pad_token(), "pad_token", source);
}
GPT2Tokenizer::GPT2Tokenizer(GPT2Tokenizer&&) noexcept = default;
GPT2Tokenizer::~GPT2Tokenizer() = default;

void GPT2Tokenizer::add_tokens(const std::string& source) {
  TANDEM_CHECK(vocabulary_.tokens.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()), source, " has ",
               vocabulary_.tokens.size(), " tokens; accepted: less than 2^31");
  bytes_.reserve(vocabulary_.tokens.size());
  token_ids_.reserve(vocabulary_.tokens.size());
  for (const std::string& token : vocabulary_.tokens) {
    TANDEM_CHECK(token_ids_.emplace(token, static_cast<int64_t>(bytes_.size())).second, source, ": the token \"", token,
                 "\" occurs twice; accepted: each token once");
    bytes_.push_back(token_to_bytes(token).value_or(token));
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(token, byte_characters()[byte]);
    const std::optional<int64_t> id = convert_tokens_to_ids(token);
    TANDEM_CHECK(id, source, " has no token \"", token, "\" for the byte ", byte,
                 "; accepted: vocabularies with tokens for all 256 bytes");
    byte_ids_[byte] = static_cast<int32_t>(*id);
  }
}

std::vector<char> GPT2Tokenizer::add_merges(const std::string& source) {
  const size_t count = vocabulary_.merges.size();
  TANDEM_CHECK(count < static_cast<size_t>(std::numeric_limits<int32_t>::max()), source, " has ", count,
               " merges; accepted: less than 2^31");
  merges_ = std::make_unique<MergeTable>(count);
  std::vector<char> is_mergeable(bytes_.size(), 0);
  for (const int32_t id : byte_ids_) is_mergeable[static_cast<size_t>(id)] = 1;
  for (size_t rank = 0; rank < count; ++rank) {
    const std::string &left = vocabulary_.merges[rank].first, &right = vocabulary_.merges[rank].second;
    const auto find_id = [&](const std::string& token) {
      const std::optional<int64_t> id = convert_tokens_to_ids(token);
      TANDEM_CHECK(id, source, ": merge ", rank + 1, " (\"", left, "\" and \"", right, "\") needs the token \"", token,
                   "\", which the vocabulary lacks");
      return static_cast<int32_t>(*id);
    };
    const int32_t left_id = find_id(left), right_id = find_id(right), merged = find_id(left + right);
    merges_->add(left_id, right_id, {static_cast<int32_t>(rank), merged});
    is_mergeable[static_cast<size_t>(merged)] = 1;
  }
  return is_mergeable;
}

void GPT2Tokenizer::add_one_token_words() {
  std::vector<int32_t> scratch;
  std::vector<int64_t> ids;
  for (size_t id = 0; id < bytes_.size(); ++id) {
    ids.clear();
    encode_word(bytes_[id], ids, scratch);
    if (ids.size() == 1 && ids[0] == static_cast<int64_t>(id))
      one_token_words_.emplace(bytes_[id], static_cast<int32_t>(id));
  }
}

void GPT2Tokenizer::add_added_tokens(const std::string& source, const std::vector<char>& is_mergeable) {
  is_special_.assign(bytes_.size(), 0);
  std::vector<AddedToken> exact, normalized;
  for (const AddedToken& token : vocabulary_.added_tokens) {
    TANDEM_CHECK(!token.content.empty(), source, ": the added token with ID ", token.id,
                 " is empty; accepted: one character or more");
    TANDEM_CHECK(convert_tokens_to_ids(token.content) == token.id, source, ": the added token \"", token.content,
                 "\" has the ID ", token.id, ", but the vocabulary has another token or none with this ID");
    // An added token stands for its own text, even if its characters could stand for other bytes.
    if (!is_mergeable[static_cast<size_t>(token.id)]) bytes_[static_cast<size_t>(token.id)] = token.content;
    is_special_[static_cast<size_t>(token.id)] = token.special;
    (token.normalized ? normalized : exact).push_back(token);
  }
  added_tokens_ = AddedTokenFinder(std::move(exact));
  normalized_tokens_ = AddedTokenFinder(std::move(normalized));
}

std::optional<int64_t> GPT2Tokenizer::find_special_token(const std::optional<std::string>& token, const char* option,
                                                         const std::string& source) const {
  if (!token) return {};
  const std::optional<int64_t> id = convert_tokens_to_ids(*token);
  TANDEM_CHECK(id, source, " has no token \"", *token, "\", which the option ", option, " names");
  return id;
}

void GPT2Tokenizer::encode_word(std::string_view word, std::vector<int64_t>& ids, std::vector<int32_t>& scratch) const {
  scratch.clear();
  for (const char byte : word) scratch.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  merges_->apply(scratch);
  ids.insert(ids.end(), scratch.begin(), scratch.end());
}

void GPT2Tokenizer::encode_words(std::string_view text, std::vector<int64_t>& ids) const {
  std::string with_space;
  if (options_.add_prefix_space() && text[0] != ' ') text = with_space.append(" ").append(text);
  std::vector<int32_t> scratch;
  for_each_word(text, [&](std::string_view word) {
    const auto found = one_token_words_.find(word);
    if (found != one_token_words_.end())
      ids.push_back(found->second);
    else
      encode_word(word, ids, scratch);
  });
}

std::vector<int64_t> GPT2Tokenizer::tokenize_to_ids(std::string_view text) const {
  std::vector<int64_t> ids;
  for (const auto& part : added_tokens_.split(text)) {
    if (part.token) {
      ids.push_back(part.token->id);
      continue;
    }
    const std::string_view rest = text.substr(part.begin, part.end - part.begin);
    for (const auto& words : normalized_tokens_.split(rest)) {
      if (words.token)
        ids.push_back(words.token->id);
      else
        encode_words(rest.substr(words.begin, words.end - words.begin), ids);
    }
  }
  return ids;
}

std::string GPT2Tokenizer::decode(const std::vector<int64_t>& ids, bool skip_special_tokens) const {
  std::string text;
  for (const int64_t id : ids) {
    TANDEM_CHECK_AS(IndexError, id >= 0 && id < vocab_size(), "decode: the ID is ", id, "; accepted: 0 to ",
                    vocab_size() - 1);
    if (!skip_special_tokens || !is_special_[static_cast<size_t>(id)]) text += bytes_[static_cast<size_t>(id)];
  }
  return text;
}

const std::string& GPT2Tokenizer::convert_ids_to_tokens(int64_t id) const {
  TANDEM_CHECK_AS(IndexError, id >= 0 && id < vocab_size(), "convert_ids_to_tokens: the ID is ", id,
                  "; accepted: 0 to ", vocab_size() - 1);
  return vocabulary_.tokens[static_cast<size_t>(id)];
}
std::optional<int64_t> GPT2Tokenizer::convert_tokens_to_ids(std::string_view token) const {
  const auto found = token_ids_.find(token);
  if (found == token_ids_.end()) return {};
  return found->second;
}
bool GPT2Tokenizer::is_special(int64_t id) const {
  return id >= 0 && id < vocab_size() && is_special_[static_cast<size_t>(id)];
}

void GPT2Tokenizer::save(const std::string& folder) const {
  BpeSettings settings;
  settings.add_prefix_space = options_.add_prefix_space();
  settings.model_max_length = options_.model_max_length();
  if (eos_token_id_) settings.eos_token = convert_ids_to_tokens(*eos_token_id_);
  if (pad_token_id_) settings.pad_token = convert_ids_to_tokens(*pad_token_id_);
  write_bpe_files(folder, vocabulary_, settings);
}

namespace {
namespace fs = std::filesystem;

/// Returns the paths of a vocabulary and its merges in a folder; nullopt if the folder has none.
std::optional<std::pair<std::string, std::string>> find_vocabulary(const fs::path& folder) {
  for (const auto& [vocab, merges] : {std::pair{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}})
    if (fs::exists(folder / vocab) && fs::exists(folder / merges))
      return std::pair{(folder / vocab).string(), (folder / merges).string()};
  return {};
}
/// Returns `path` if it names a file, else the path of tokenizer.json in this folder.
std::string tokenizer_json_path(const std::string& path) {
  return fs::is_regular_file(path) ? path : (fs::path(path) / "tokenizer.json").string();
}

}  // namespace

namespace detail {
bool has_gpt2_vocabulary(const std::string& folder) { return find_vocabulary(folder).has_value(); }
}  // namespace detail

std::shared_ptr<const GPT2Tokenizer> load_gpt2_tokenizer(const std::string& path) {
  require_unicode_support("load_gpt2_tokenizer");
  const std::string tokenizer_json = tokenizer_json_path(path);
  const std::string config = (fs::path(tokenizer_json).parent_path() / "tokenizer_config.json").string();
  BpeSettings settings;
  if (fs::exists(config)) read_bpe_tokenizer_config(config, settings);
  const auto make_options = [&] {
    GPT2TokenizerOptions options;
    options.add_prefix_space(settings.add_prefix_space).eos_token(settings.eos_token).pad_token(settings.pad_token);
    if (settings.model_max_length) options.model_max_length(*settings.model_max_length);
    return options;
  };
  if (fs::exists(tokenizer_json)) {
    BpeVocabulary vocabulary = read_bpe_tokenizer_json(tokenizer_json, settings);
    return std::make_shared<const GPT2Tokenizer>(std::move(vocabulary), make_options(), tokenizer_json);
  }
  const auto files = find_vocabulary(path);
  TANDEM_CHECK(files, "load_gpt2_tokenizer: ", path, " has no tokenizer; accepted: a tokenizer.json, or a folder with ",
               "tokenizer.json, or with vocab.json and merges.txt, or with encoder.json and vocab.bpe");
  return std::make_shared<const GPT2Tokenizer>(files->first, files->second, make_options());
}

}  // namespace tandem::text
