// Implements BertTokenizer: reads the vocabulary, finds added tokens, and converts texts to numbers and back.
#include "tandem/text/bert_tokenizer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tandem/core/internal.h"

namespace tandem::text {
namespace {

std::vector<std::string> read_vocab_file(const std::string& path) {
  require_unicode_support("BertTokenizer");
  std::ifstream file(path, std::ios::binary);
  TANDEM_CHECK(file, "BertTokenizer: ", path, " cannot be read: ", std::strerror(errno),
               "; expected a vocabulary with one token per line");
  std::vector<std::string> tokens;
  for (std::string token; std::getline(file, token);) {
    if (!token.empty() && token.back() == '\r') token.pop_back();
    tokens.push_back(std::move(token));
  }
  TANDEM_CHECK(!file.bad(), "BertTokenizer: reading ", path, " failed: ", std::strerror(errno));
  return tokens;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}
/// Removes spaces before punctuation from a token and the space before it, in the order of Hugging Face's decoder.
void clean_up(std::string& token) {
  constexpr std::pair<const char*, const char*> kReplacements[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kReplacements) replace_all(token, from, to);
}

}  // namespace

BertTokenizer::BertTokenizer(const std::string& vocab_file, const BertTokenizerOptions& options)
    : BertTokenizer(read_vocab_file(vocab_file), options, vocab_file) {}

BertTokenizer::BertTokenizer(std::vector<std::string> vocab, const BertTokenizerOptions& o, const std::string& source)
    : options_(o), tokens_(std::move(vocab)), model_tokens_(tokens_.size()) {
  require_unicode_support("BertTokenizer");
  TANDEM_CHECK(o.model_max_length() >= 2, "BertTokenizer: model_max_length is ", o.model_max_length(),
               "; accepted: 2 or more, for [CLS] and [SEP]");
  TANDEM_CHECK(o.max_input_chars_per_word() >= 0, "BertTokenizer: ", source, ": max_input_chars_per_word is ",
               o.max_input_chars_per_word(), "; accepted: 0 or more");
  TANDEM_CHECK(tokens_.size() < size_t(INT32_MAX), "BertTokenizer: ", source, " has ", tokens_.size(),
               " lines; accepted: fewer than 2^31");
  TANDEM_CHECK(!o.unk_token().empty(), "BertTokenizer: unk_token is empty; accepted: a token of the vocabulary");
  normalizer_ = detail::BertNormalizer(o.clean_text(), o.tokenize_chinese_chars(),
                                       o.strip_accents().value_or(o.do_lower_case()), o.do_lower_case());
  pieces_ = detail::WordPiece(tokens_, o.continuing_subword_prefix(), /*unk_id=*/-1, o.max_input_chars_per_word());
  if (o.added_tokens()) {
    added_ = *o.added_tokens();
  } else {
    for (const std::string& name : {o.unk_token(), o.sep_token(), o.pad_token(), o.cls_token(), o.mask_token()})
      if (find_special(name, source)) added_.push_back({.content = name});
  }
  add_tokens();
  pieces_.set_unk_id(*find_special(o.unk_token(), source));
  pad_token_id_ = find_special(o.pad_token(), source);
  find_special(o.mask_token(), source);
  if (!o.add_cls_and_sep()) return;
  TANDEM_CHECK(!o.cls_token().empty() && !o.sep_token().empty(), "BertTokenizer: cls_token is \"", o.cls_token(),
               "\" and sep_token \"", o.sep_token(),
               "\"; accepted: tokens of the vocabulary, or add_cls_and_sep(false)");
  const int64_t sep = *find_special(o.sep_token(), source);
  template_ = {{*find_special(o.cls_token(), source)}, {sep}, {sep}};
}

/// Returns the number of a special token; nullopt if its name is empty.
std::optional<int64_t> BertTokenizer::find_special(const std::string& token, const std::string& source) const {
  if (token.empty()) return {};
  const std::optional<int64_t> id = convert_tokens_to_ids(token);
  TANDEM_CHECK(id, "BertTokenizer: ", source, " has ", model_tokens_, " lines, none of which is ", token,
               "; is it a vocabulary of BERT?");
  return id;
}

/// Numbers the added tokens, and prepares their search.
void BertTokenizer::add_tokens() {
  std::vector<AddedToken> original, normalized;
  for (AddedToken& token : added_) {
    if (const int32_t id = pieces_.find(token.content); id >= 0) {
      token.id = id;
    } else {
      token.id = vocab_size();
      tokens_.push_back(token.content);
    }
    if (!token.normalized) {
      original.push_back(token);
      continue;
    }
    normalized.push_back(token);
    normalized.back().content.clear();
    normalizer_.append_normalized(token.content, normalized.back().content);
    tokens_[static_cast<size_t>(token.id)] = normalized.back().content;  // the name that decode() writes
  }
  in_original_ = detail::AddedTokenFinder(std::move(original));
  in_normalized_ = detail::AddedTokenFinder(std::move(normalized));
  is_special_.resize(tokens_.size());
  for (const AddedToken& token : added_) is_special_[static_cast<size_t>(token.id)] = token.special;
}

void BertTokenizer::append_words(std::string_view text, std::vector<int64_t>& ids) const {
  std::string normalized;
  normalizer_.append_normalized(text, normalized);
  const auto append = [&](std::string_view part) {
    detail::WordSplitter words(part);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) pieces_.tokenize(word, ids);
  };
  if (in_normalized_.empty()) return append(normalized);
  for (const auto& part : in_normalized_.split(normalized)) {
    if (part.token)
      ids.push_back(part.token->id);
    else
      append(std::string_view(normalized).substr(part.begin, part.end - part.begin));
  }
}

std::vector<int64_t> BertTokenizer::tokenize_to_ids(std::string_view text) const {
  std::vector<int64_t> ids;
  for (const auto& part : in_original_.split(text)) {
    if (part.token)
      ids.push_back(part.token->id);
    else
      append_words(text.substr(part.begin, part.end - part.begin), ids);
  }
  return ids;
}

const std::string& BertTokenizer::convert_ids_to_tokens(int64_t id) const {
  TANDEM_CHECK_AS(IndexError, id >= 0 && id < vocab_size(), "convert_ids_to_tokens: the ID is ", id,
                  "; accepted: 0 to ", vocab_size() - 1);
  return tokens_[static_cast<size_t>(id)];
}
std::optional<int64_t> BertTokenizer::convert_tokens_to_ids(std::string_view token) const {
  for (const AddedToken& added : added_)
    if (added.content == token) return added.id;
  const int32_t id = pieces_.find(token);
  return id < 0 ? std::nullopt : std::optional<int64_t>(id);
}
bool BertTokenizer::is_special(int64_t id) const {
  return id >= 0 && id < vocab_size() && is_special_[static_cast<size_t>(id)];
}

std::string BertTokenizer::decode(const std::vector<int64_t>& ids, bool skip_special_tokens) const {
  std::string text, part;
  bool first = true;
  for (const int64_t id : ids) {
    const std::string& token = convert_ids_to_tokens(id);
    if (skip_special_tokens && is_special(id)) continue;
    const std::string& prefix = options_.continuing_subword_prefix();
    if (first)
      part = token;
    else if (token.starts_with(prefix))
      part = token.substr(prefix.size());
    else
      part = " " + token;
    if (options_.cleanup()) clean_up(part);
    text += part;
    first = false;
  }
  return text;
}

BertTokenizer BertTokenizer::with_model_max_length(int64_t model_max_length) const {
  TANDEM_CHECK(model_max_length >= 2, "BertTokenizer: model_max_length is ", model_max_length,
               "; accepted: 2 or more, for [CLS] and [SEP]");
  BertTokenizer copy = *this;
  copy.options_.model_max_length(model_max_length);
  return copy;
}

}  // namespace tandem::text
