// Prepares the tokenizer and the tokens of `tandem pretrain`.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tandem/text/train_bpe.h"
#include "tandem/tools/pretrain/pretrain.h"
#include "tandem/tools/tokenize/tokenize.h"
#include "tandem/tools/training_job.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::pretrain {
namespace {

namespace fs = std::filesystem;

std::string training_tokens(const Settings& s) { return s.output + "/train.tokens"; }
std::string validation_tokens(const Settings& s) { return s.output + "/validation.tokens"; }

/// Encodes texts as a token file. An end-of-text token, if the tokenizer has one, follows each text.
void encode_files(const std::vector<std::string>& files, const text::Tokenizer& tokenizer, const std::string& path) {
  text::TokenFileWriter writer(path, tokenizer.vocab_size());
  size_t bytes = 0;
  for (const std::string& file : files) {
    const std::string text = text::detail::read_text_file("tandem pretrain", file);
    bytes += text.size();
    writer.append(tokenize::encode_on_threads(tokenizer, text));
    if (const std::optional<int64_t> end = tokenizer.eos_token_id()) writer.append({*end});
  }
  writer.finish();
  print_once("%s: %zu bytes, %lld tokens, %.2f bytes per token\n", path.c_str(), bytes,
             static_cast<long long>(writer.size()), static_cast<double>(bytes) / static_cast<double>(writer.size()));
}

std::shared_ptr<const text::Tokenizer> prepare_tokenizer(const Settings& s, bool continues) {
  const bool has_saved = fs::exists(s.output + "/tokenizer.json");
  if (continues && has_saved) return text::load_tokenizer(s.output);
  if (!s.tokenizer.empty()) return text::load_tokenizer(s.tokenizer);
  if (s.files.empty()) return nullptr;
  auto tokenizer = std::make_shared<const text::GPT2Tokenizer>(
      text::train_bpe_from_files(s.files, text::BpeTrainerOptions().vocab_size(s.vocab_size)));
  print_once("tokenizer: %lld tokens, trained on %zu file%s\n", static_cast<long long>(tokenizer->vocab_size()),
             s.files.size(), s.files.size() == 1 ? "" : "s");
  return tokenizer;
}

Corpus make_corpus(const Settings& s) {
  const std::optional<double> share = validation_share(s.validation);
  const bool encodes = s.tokens.empty();
  // The training tokens are written last, so if they exist, the others do too.
  const bool continues = s.resume && encodes && fs::exists(training_tokens(s));
  check_usage(continues || !s.files.empty() || !encodes, "give the texts to train on, or --tokens, a token file");
  const auto tokenizer = prepare_tokenizer(s, continues);
  std::string training = s.tokens, validation = share ? "" : s.validation;
  if (encodes) {
    training = training_tokens(s);
    if (!share) validation = validation_tokens(s);
    if (continues) {
      print_once("continues with the tokens in %s\n", training.c_str());
    } else {
      if (is_printing_process()) tokenizer->save(s.output);
      if (!share) encode_files({s.validation}, *tokenizer, validation);
      encode_files(s.files, *tokenizer, training);
    }
  } else if (tokenizer && is_printing_process()) {
    tokenizer->save(s.output);
  }
  const text::TokenFile file(training);
  check_usage(!tokenizer || tokenizer->vocab_size() == file.vocab_size(), training, " is for a vocabulary of ",
              file.vocab_size(), " tokens, and the tokenizer has ", tokenizer ? tokenizer->vocab_size() : 0,
              "; give the tokenizer that made the file");
  const auto windows = [&] { return text::TokenWindowsOptions().block_size(s.block_size); };
  const auto cut = file.size() - static_cast<int64_t>(share.value_or(0) * static_cast<double>(file.size()));
  // A small stride makes the Trainer's epoch longer than most trainings, so validations come at regular steps. The
  // sampler keeps a list of all windows, so there are at most about 2^22.
  const int64_t stride = std::clamp<int64_t>(cut >> 22, 1, s.block_size);
  Corpus corpus{text::TokenWindows(file, windows().random_positions(true).stride(stride).end(cut)), {}, tokenizer, cut};
  if (!share) {
    const text::TokenFile other(validation);
    check_usage(other.vocab_size() == file.vocab_size(), validation, " is for a vocabulary of ", other.vocab_size(),
                " tokens, and ", training, " for ", file.vocab_size());
    corpus.validation.emplace(other, windows());
  } else if (*share > 0) {
    corpus.validation.emplace(file, windows().begin(cut));
  }
  return corpus;
}

}  // namespace

std::optional<double> validation_share(const std::string& validation) {
  char* end = nullptr;
  const double share = std::strtod(validation.c_str(), &end);
  if (validation.empty() || *end != '\0') return {};
  check_usage(share >= 0 && share < 1, "--validation: ", validation,
              " is out of range; accepted: a share of at least 0 and below 1, or a file");
  return share;
}

Corpus prepare_corpus(const Settings& s) {
  return rethrow_as_usage_error([&] { return make_corpus(s); });
}

}  // namespace tandem::tools::pretrain
