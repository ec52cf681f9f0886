// ByteSource, which reads bytes from a position in a file or in memory, and FileSink, a file that gets its name when it
// is complete.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Calls f and returns its result. If f throws an Error whose message does not contain `name`, puts `name` in front of
/// the message.
template <class F> decltype(auto) with_error_context(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (std::string(error.what()).find(name) != std::string::npos) throw;
    throw Error(name + ": " + error.what());
  }
}

/// Base class of sources of bytes with random access. Error messages contain the source's name, which is a path or a
/// description.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  /// Reads `bytes` bytes, starting at position `at`. @throws Error that names the source if it ends earlier
  void read(uint64_t at, void* to, uint64_t bytes) const;

 protected:
  virtual void read_some(uint64_t at, char* to, uint64_t bytes) const = 0;
  uint64_t size_ = 0;

 private:
  std::string name_;
};

/// A ByteSource that reads a regular file. Opening a pipe is an error, and does not block.
class FileSource : public ByteSource {
 public:
  FileSource(const char* op, const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  /// Maps the whole file to memory; the file must not be empty. Changes to the memory do not reach the file. The
  /// mapping exists as long as the returned pointer, even after the source is destroyed.
  std::shared_ptr<char> map_file() const;

 private:
  void read_some(uint64_t at, char* to, uint64_t bytes) const override;
  const char* op_;
  int fd_ = -1;
};

/// A ByteSource that reads from memory. The memory must outlive the source.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, const char* data, uint64_t size) : ByteSource(std::move(name)), data_(data) {
    size_ = size;
  }

 private:
  void read_some(uint64_t at, char* to, uint64_t bytes) const override;
  const char* data_;
};

/// Writes a file in the folder of `path` under a temporary name. commit() renames the file to `path`. If commit() is
/// not called, the destructor removes the file, and a file at `path` is unchanged.
class FileSink {
 public:
  FileSink(const char* op, const std::string& path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  void write(const void* from, uint64_t bytes);
  /// Writes at a position, and does not change the position of write().
  void write_at(uint64_t at, const void* from, uint64_t bytes);
  void commit();

 private:
  const char* op_;
  std::string path_, temporary_path_;
  int fd_ = -1;
};

}  // namespace tandem::detail
