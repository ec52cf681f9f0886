// Bytes in and out: what is read at positions, and a file that takes its name when it is whole.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Calls f; an error that does not name what was read gets that name in front.
template <class F> decltype(auto) naming(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (std::string(error.what()).find(name) != std::string::npos) throw;
    throw Error(name + ": " + error.what());
  }
}

/// Bytes that are read at positions. Errors call it by its name: a path, or what else it is.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  /// @throws Error naming the source when it has no such bytes
  void read(uint64_t at, void* to, uint64_t bytes) const;

 protected:
  virtual void read_some(uint64_t at, char* to, uint64_t bytes) const = 0;
  uint64_t size_ = 0;

 private:
  std::string name_;
};

/// A regular file. A pipe is refused, not waited for.
class FileSource : public ByteSource {
 public:
  FileSource(const char* op, const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  /// The whole file, which must not be empty, as memory of this process: what is written there does not reach the file.
  /// It outlives the source.
  std::shared_ptr<char> map_file() const;

 private:
  void read_some(uint64_t at, char* to, uint64_t bytes) const override;
  const char* op_;
  int fd_ = -1;
};

/// Memory that outlives the source.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, const char* data, uint64_t size) : ByteSource(std::move(name)), data_(data) {
    size_ = size;
  }

 private:
  void read_some(uint64_t at, char* to, uint64_t bytes) const override;
  const char* data_;
};

/// A file that is written beside `path` under another name and put in its place by commit(); without that it is
/// removed, and `path` is what it was.
class FileSink {
 public:
  FileSink(const char* op, const std::string& path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  void write(const void* from, uint64_t bytes);
  void commit();

 private:
  const char* op_;
  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace tandem::detail
