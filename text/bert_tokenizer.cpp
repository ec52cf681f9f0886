// Implements BertTokenizer: cleans text, splits it into words and word pieces, and pads batches of encoded texts.
#include "tandem/text/bert_tokenizer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tandem/core/internal.h"
#include "tandem/text/unicode.h"

namespace tandem::text {
namespace {

constexpr size_t kMaxInputCharsPerWord = 100;  // maximum characters of a word; Hugging Face's max_input_chars_per_word
constexpr const char* kSubwordPrefix = "##";

/// Returns whether c is in a block of CJK ideographs, as defined by BERT's tokenizer: without Hangul, Hiragana and
/// Katakana, whose scripts have spaces. The 256 characters from U+2B820 on are left out because Hugging Face leaves
/// them out.
bool is_chinese_char(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// Returns text without control characters, and with all white space replaced by U+0020.
std::u32string clean_text(const std::u32string& text, bool space_around_chinese) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    const CharacterKind kind = get_character_kind(c);
    if (c == U'\ufffd' || kind == CharacterKind::control) continue;
    if (kind == CharacterKind::space)
      out.push_back(U' ');
    else if (space_around_chinese && is_chinese_char(c))
      out.append({U' ', c, U' '});
    else
      out.push_back(c);
  }
  return out;
}

std::u32string run_strip_accents(const std::u32string& text) {
  std::u32string out = normalize_nfd(text);
  out.erase(std::remove_if(out.begin(), out.end(),
                           [](char32_t c) { return get_character_kind(c) == CharacterKind::nonspacing_mark; }),
            out.end());
  return out;
}

std::u32string to_lower(const std::u32string& text) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) out += detail::to_lower(c);
  return out;
}

}  // namespace

BertTokenizer::BertTokenizer(const std::string& vocab_file, const BertTokenizerOptions& o) : options(o) {
  require_unicode_support("BertTokenizer");
  TANDEM_CHECK(options.model_max_length() >= 2, "BertTokenizer: model_max_length is ", options.model_max_length(),
               "; accepted: 2 or more, for [CLS] and [SEP]");
  std::ifstream file(vocab_file, std::ios::binary);
  TANDEM_CHECK(file, "BertTokenizer: ", vocab_file, " cannot be read: ", std::strerror(errno),
               "; expected a vocabulary with one token per line");
  for (std::string token; std::getline(file, token);) {
    if (!token.empty() && token.back() == '\r') token.pop_back();
    const int64_t id = vocab_size();
    max_piece_bytes_ = std::max(max_piece_bytes_, token.size());
    if (token.rfind(kSubwordPrefix, 0) == 0 && token.size() > 2) subword_pieces_[token.substr(2)] = id;
    initial_pieces_[token] = id;
    tokens_.push_back(std::move(token));
  }
  TANDEM_CHECK(!file.bad(), "BertTokenizer: reading ", vocab_file, " failed: ", std::strerror(errno));
  const auto special = [&](const std::string& token) {
    const auto found = initial_pieces_.find(token);
    TANDEM_CHECK(found != initial_pieces_.end(), "BertTokenizer: ", vocab_file, " has ", vocab_size(),
                 " lines, none of which is ", token, "; is it a vocabulary of BERT?");
    return special_tokens_[token] = found->second;
  };
  unk_token_id_ = special(options.unk_token());
  sep_token_id_ = special(options.sep_token());
  pad_token_id_ = special(options.pad_token());
  cls_token_id_ = special(options.cls_token());
  special(options.mask_token());
}

void BertTokenizer::wordpiece_tokenize(const std::u32string& word, std::vector<int64_t>& ids) const {
  if (word.size() > kMaxInputCharsPerWord) return ids.push_back(unk_token_id_);
  std::string text;
  std::vector<size_t> ends;  // for each character, the byte offset of its end
  for (const char32_t c : word) {
    append_utf8(text, c);
    ends.push_back(text.size());
  }
  const size_t before = ids.size();
  std::string piece;
  for (size_t begin = 0, from = 0; from < ends.size();) {
    const Vocab& known = begin == 0 ? initial_pieces_ : subword_pieces_;
    size_t to = ends.size();  // index after the last character of the piece
    for (; to > from; --to) {
      if (ends[to - 1] - begin > max_piece_bytes_) continue;
      piece.assign(text, begin, ends[to - 1] - begin);
      const auto found = known.find(piece);
      if (found == known.end()) continue;
      ids.push_back(found->second);
      break;
    }
    if (to == from) {  // no piece matches, so the whole word becomes [UNK]
      ids.resize(before);
      return ids.push_back(unk_token_id_);
    }
    from = to;
    begin = ends[to - 1];
  }
}

void BertTokenizer::basic_tokenize(std::string_view text, std::vector<int64_t>& ids) const {
  std::u32string characters = clean_text(decode_utf8(text), options.tokenize_chinese_chars());
  if (options.strip_accents().value_or(options.do_lower_case())) characters = run_strip_accents(characters);
  if (options.do_lower_case()) characters = to_lower(characters);
  std::u32string word;
  const auto end_word = [&] {
    if (!word.empty()) wordpiece_tokenize(word, ids);
    word.clear();
  };
  for (const char32_t c : characters) {
    const CharacterKind kind = get_character_kind(c);
    if (kind == CharacterKind::space || kind == CharacterKind::punctuation) end_word();
    if (kind == CharacterKind::space) continue;
    word.push_back(c);
    if (kind == CharacterKind::punctuation) end_word();
  }
  end_word();
}

std::vector<int64_t> BertTokenizer::tokenize_to_ids(std::string_view text) const {
  std::vector<int64_t> ids;
  while (!text.empty()) {
    // Find the next special token; if several begin at the same position, take the longest.
    size_t at = std::string_view::npos, length = 0;
    int64_t id = 0;
    for (const auto& [token, number] : special_tokens_) {
      const size_t found = text.find(token);
      if (found == std::string_view::npos || found > at || (found == at && token.size() < length)) continue;
      at = found;
      length = token.size();
      id = number;
    }
    basic_tokenize(text.substr(0, at), ids);
    if (at == std::string_view::npos) break;
    ids.push_back(id);
    text.remove_prefix(at + length);
  }
  return ids;
}

const std::string& BertTokenizer::convert_ids_to_tokens(int64_t id) const {
  TANDEM_CHECK_AS(IndexError, id >= 0 && id < vocab_size(), "convert_ids_to_tokens: the ID is ", id,
                  "; accepted: 0 to ", vocab_size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

std::optional<int64_t> BertTokenizer::convert_tokens_to_ids(std::string_view token) const {
  const auto found = initial_pieces_.find(std::string(token));
  return found == initial_pieces_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}
bool BertTokenizer::is_special(int64_t id) const {
  return std::any_of(special_tokens_.begin(), special_tokens_.end(),
                     [&](const auto& each) { return each.second == id; });
}

std::string BertTokenizer::decode(const std::vector<int64_t>& ids, bool skip_special_tokens) const {
  (void)ids, (void)skip_special_tokens;
  tandem::detail::throw_error<NotImplementedError>(__FILE__, __LINE__, "BertTokenizer: decode is not implemented");
}
void BertTokenizer::save(const std::string& folder) const {
  tandem::detail::throw_error<NotImplementedError>(__FILE__, __LINE__, "BertTokenizer: save to ", folder,
                                                   " is not implemented");
}

}  // namespace tandem::text
