// TokenFile: a corpus as token numbers in a file that is mapped to memory, and TokenFileWriter, which writes one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/array_ref.h"

namespace tandem::detail {
class FileSink;
}  // namespace tandem::detail

namespace tandem::text {

// Note [Form of token files]: all numbers are little-endian. The header has 40 bytes: the text "TDTOKENS"; version (1)
// and bytes per token (2 or 4), both uint32; then, as uint64, the number of tokens, the size of the vocabulary, and the
// checksum: the 64-bit FNV-1a hash of the bytes of all tokens. The tokens follow, as uint16 if the vocabulary has at
// most 65,536, else as uint32.

/// Writes a token file. The file gets its name when finish() is called; until then an existing file is unchanged.
class TokenFileWriter {
 public:
  /// @param vocab_size  number of tokens in the vocabulary, from 1 to 2^31
  /// @throws Error if the file cannot be written
  TokenFileWriter(const std::string& path, int64_t vocab_size);
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  /// Appends tokens. @throws Error for a token that is not in [0, vocab_size), or if writing fails
  void append(const std::vector<int64_t>& tokens);
  /// Completes the file. @throws Error if writing fails, or there are no tokens
  void finish();
  /// Number of tokens so far.
  int64_t size() const { return size_; }

 private:
  void write_header();
  void flush();
  std::string path_;
  int64_t vocab_size_, size_ = 0;
  size_t token_bytes_;
  uint64_t checksum_;
  std::string buffer_;
  std::unique_ptr<tandem::detail::FileSink> sink_;
};

/// A token file, mapped to memory, so that the operating system loads the parts that are read. Copies share the memory.
class TokenFile {
 public:
  /// Reads the header, and checks that the file has the size that it says.
  /// @throws Error that names the file if it cannot be read, is not a token file, or is truncated or too long
  explicit TokenFile(const std::string& path);
  /// Number of tokens.
  int64_t size() const { return size_; }
  /// Number of tokens in the vocabulary.
  int64_t vocab_size() const { return vocab_size_; }
  const std::string& path() const { return path_; }
  /// Copies `count` tokens, from position `begin`, to `out`.
  /// @throws Error if the file has no such positions, or a token is not in the vocabulary
  void read(int64_t begin, int64_t count, int64_t* out) const;
  std::vector<int64_t> read(int64_t begin, int64_t count) const;
  /// Reads the whole file. @throws Error if the tokens do not have the header's checksum, or one is not in the
  /// vocabulary
  void verify() const;

 private:
  std::string path_;
  std::shared_ptr<const char> bytes_;
  int64_t size_ = 0, vocab_size_ = 0;
  size_t token_bytes_ = 0;
  uint64_t checksum_ = 0;
};

}  // namespace tandem::text
