// Folders and files for tests of reading and writing.
#pragma once
#include <random>
#include <string>

namespace tandem::test {

/// A new empty folder, removed with everything in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  /// In memory where the system has that (/dev/shm): for small files that are written over thousands of times, which
  /// some file systems take to the disk each time.
  static TemporaryFolder in_memory();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Files and folders directly in it.
  size_t count() const;

 private:
  explicit TemporaryFolder(const std::string& within);
  std::string path_;
};

void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

/// One to three random changes of a file: bytes set, bits flipped, ends cut, bytes inserted or doubled.
std::string mutate(std::string bytes, std::mt19937_64& random);

}  // namespace tandem::test
