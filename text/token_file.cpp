// Implements TokenFile and TokenFileWriter. See Note [Form of token files] in token_file.h.
#include "tandem/text/token_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tandem/serialize/file.h"

namespace tandem::text {
namespace {

constexpr std::string_view kMagic = "TDTOKENS";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 40;
constexpr int64_t kMaxVocabSize = int64_t{1} << 31;
constexpr uint64_t kChecksumStart = 0xcbf29ce484222325;

size_t token_bytes(int64_t vocab_size) { return vocab_size <= 65536 ? 2 : 4; }
uint64_t checksum(std::string_view bytes, uint64_t sum) {
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return sum;
}
void append_number(std::string& to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}
uint64_t read_number(const char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  return value;
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, int64_t vocab_size)
    : path_(path), vocab_size_(vocab_size), token_bytes_(token_bytes(vocab_size)), checksum_(kChecksumStart) {
  TANDEM_CHECK(vocab_size >= 1 && vocab_size <= kMaxVocabSize, "TokenFileWriter: vocab_size is ", vocab_size,
               "; accepted: 1 to ", kMaxVocabSize);
  sink_ = std::make_unique<tandem::detail::FileSink>("TokenFileWriter", path);
  write_header();
}
TokenFileWriter::~TokenFileWriter() = default;

void TokenFileWriter::write_header() {
  std::string header(kMagic);
  append_number(header, kVersion, 4);
  append_number(header, token_bytes_, 4);
  append_number(header, static_cast<uint64_t>(size_), 8);
  append_number(header, static_cast<uint64_t>(vocab_size_), 8);
  append_number(header, checksum_, 8);
  sink_->write_at(0, header.data(), header.size());
}
void TokenFileWriter::append(const std::vector<int64_t>& tokens) {
  TANDEM_CHECK(sink_, "TokenFileWriter: ", path_, " is finished; make another writer");
  constexpr size_t kBufferBytes = size_t{1} << 20;
  for (const int64_t token : tokens) {
    TANDEM_CHECK(token >= 0 && token < vocab_size_, "TokenFileWriter: token ", size_, " is ", token,
                 "; accepted: 0 to ", vocab_size_ - 1, ", the numbers of the vocabulary");
    append_number(buffer_, static_cast<uint64_t>(token), token_bytes_);
    ++size_;
    if (buffer_.size() >= kBufferBytes) flush();
  }
}
void TokenFileWriter::flush() {
  checksum_ = checksum(buffer_, checksum_);
  sink_->write_at(kHeaderBytes + static_cast<uint64_t>(size_) * token_bytes_ - buffer_.size(), buffer_.data(),
                  buffer_.size());
  buffer_.clear();
}
void TokenFileWriter::finish() {
  TANDEM_CHECK(sink_ && size_ > 0, "TokenFileWriter: ", path_, " has ", size_, " tokens, or is finished; ",
               "accepted: one call, after one token or more");
  flush();
  write_header();
  sink_->commit();
  sink_.reset();
}

TokenFile::TokenFile(const std::string& path) : path_(path) {
  const tandem::detail::FileSource file("TokenFile", path);
  TANDEM_CHECK(file.size() >= kHeaderBytes, "TokenFile: ", path, " has ", file.size(),
               " bytes, fewer than the header's ", kHeaderBytes, "; it is truncated, or not a token file");
  bytes_ = file.map_file();
  const char* const at = bytes_.get();
  TANDEM_CHECK(std::string_view(at, kMagic.size()) == kMagic, "TokenFile: ", path, " does not begin with ", kMagic,
               "; accepted: files of TokenFileWriter");
  const uint64_t version = read_number(at + 8, 4), bytes = read_number(at + 12, 4), count = read_number(at + 16, 8),
                 vocab_size = read_number(at + 24, 8);
  TANDEM_CHECK(version == kVersion, "TokenFile: ", path, " has version ", version, "; accepted: ", kVersion);
  TANDEM_CHECK(vocab_size >= 1 && vocab_size <= kMaxVocabSize, "TokenFile: ", path, " has a vocabulary of ", vocab_size,
               "; accepted: 1 to ", kMaxVocabSize);
  vocab_size_ = static_cast<int64_t>(vocab_size);
  token_bytes_ = token_bytes(vocab_size_);
  TANDEM_CHECK(bytes == token_bytes_, "TokenFile: ", path, " has ", bytes, " bytes per token; accepted: ", token_bytes_,
               " for a vocabulary of ", vocab_size);
  const uint64_t there = file.size() - kHeaderBytes;
  TANDEM_CHECK(there % bytes == 0 && there / bytes == count, "TokenFile: ", path, " has ", there,
               " bytes of tokens, but its header says ", count, " tokens of ", bytes, " bytes; it is ",
               there / bytes < count ? "truncated" : "damaged");
  size_ = static_cast<int64_t>(count);
  checksum_ = read_number(at + 32, 8);
}

void TokenFile::read(int64_t begin, int64_t count, int64_t* out) const {
  TANDEM_CHECK(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin, "TokenFile: ", path_,
               " has no tokens ", begin, " to ", begin, " + ", count, " - 1; it has ", size_, " tokens");
  const char* const from = bytes_.get() + kHeaderBytes + static_cast<size_t>(begin) * token_bytes_;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t token = read_number(from + static_cast<size_t>(i) * token_bytes_, token_bytes_);
    TANDEM_CHECK(token < static_cast<uint64_t>(vocab_size_), "TokenFile: ", path_, " has ", token, " at position ",
                 begin + i, "; accepted: less than ", vocab_size_, ", the size of its vocabulary");
    out[i] = static_cast<int64_t>(token);
  }
}
std::vector<int64_t> TokenFile::read(int64_t begin, int64_t count) const {
  std::vector<int64_t> out(static_cast<size_t>(std::clamp<int64_t>(count, 0, size_)));
  read(begin, count, out.data());
  return out;
}
void TokenFile::verify() const {
  const std::string_view tokens(bytes_.get() + kHeaderBytes, static_cast<size_t>(size_) * token_bytes_);
  TANDEM_CHECK(checksum(tokens, kChecksumStart) == checksum_, "TokenFile: the tokens of ", path_,
               " do not have the checksum of the header; the file is damaged");
  constexpr int64_t kAtOnce = 65536;
  for (int64_t at = 0; at < size_; at += kAtOnce) read(at, std::min(kAtOnce, size_ - at));
}

}  // namespace tandem::text
