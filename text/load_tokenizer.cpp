// Implements load_tokenizer: finds the files of a tokenizer in a folder, and its kind.
#include <filesystem>

#include "tandem/core/internal.h"
#include "tandem/serialize/json_file.h"
#include "tandem/text/bert_tokenizer.h"
#include "tandem/text/gpt2_tokenizer.h"

namespace tandem::text {
namespace {

using tandem::detail::JsonFile;
std::string join_path(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}
bool file_exists(const std::string& path) { return std::filesystem::exists(path); }

/// Loads a folder with vocab.txt: the older files of BERT's tokenizers.
std::shared_ptr<const Tokenizer> load_vocab_txt(const std::string& folder) {
  BertTokenizerOptions o;
  const std::string path = join_path(folder, "tokenizer_config.json");
  if (file_exists(path)) {
    const JsonFile file(path);
    const auto text = [&](const char* key, std::string& field) { field = file.text(key).value_or(field); };
    o.do_lower_case(file.boolean("do_lower_case").value_or(o.do_lower_case()));
    o.strip_accents(file.boolean("strip_accents"));
    o.tokenize_chinese_chars(file.boolean("tokenize_chinese_chars").value_or(o.tokenize_chinese_chars()));
    // A tokenizer without a limit has a model_max_length of about 1e30 in its file.
    const double max_length = file.number("model_max_length").value_or(512);
    if (max_length < 1e9) o.model_max_length(static_cast<int64_t>(max_length));
    text("unk_token", o.unk_token());
    text("sep_token", o.sep_token());
    text("pad_token", o.pad_token());
    text("cls_token", o.cls_token());
    text("mask_token", o.mask_token());
  }
  return std::make_shared<BertTokenizer>(join_path(folder, "vocab.txt"), o);
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  if (is_gpt2_tokenizer(path)) return load_gpt2_tokenizer(path);
  // One line for each kind of folder, the preferred one first.
  if (file_exists(join_path(path, "vocab.txt"))) return load_vocab_txt(path);
  TANDEM_FAIL("load_tokenizer: ", path, " has no tokenizer; accepted: a folder with vocab.txt");
}

}  // namespace tandem::text
