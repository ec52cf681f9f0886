// TokenWindows: a dataset of windows of a token file, for training language models.
#pragma once
#include "tandem/core/option.h"
#include "tandem/data/dataset.h"
#include "tandem/text/token_file.h"

namespace tandem::text {

/// Options of TokenWindows.
struct TokenWindowsOptions {
  /// Number of tokens of an example.
  TANDEM_ARG(int64_t, block_size) = 256;
  /// Number of tokens from the start of a window to the start of the next; 0: block_size, so that an epoch predicts
  /// each token once.
  TANDEM_ARG(int64_t, stride) = 0;
  /// If true, each window begins at a random position. The positions follow from the seed, the epoch and the example's
  /// position in the epoch (see Note [Random numbers of examples]), so all strategies and a resumed training see the
  /// same windows. The number of examples is that of the windows without this option.
  TANDEM_ARG(bool, random_positions) = false;
  /// Range of the file's tokens to use, such as the first 90 % for training. end: 0 or less counts from the end.
  TANDEM_ARG(int64_t, begin) = 0;
  TANDEM_ARG(int64_t, end) = 0;
};

/// A dataset of windows of block_size + 1 tokens. In an example, `data` (block_size) int64 has the window without its
/// last token, and `target` (block_size) int64 the window without its first: the token that follows each position.
class TokenWindows : public data::datasets::Dataset<TokenWindows> {
 public:
  /// @throws Error for invalid options, and if the range has fewer than block_size + 1 tokens
  explicit TokenWindows(TokenFile file, const TokenWindowsOptions& options = {});
  data::Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return num_windows_; }
  const TokenFile& file() const { return file_; }

 private:
  TokenFile file_;
  TokenWindowsOptions options_;
  int64_t begin_, end_, stride_;
  size_t num_windows_ = 0;
};

}  // namespace tandem::text
