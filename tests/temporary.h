// Temporary folders, and reading and writing of files for tests.
#pragma once
#include <random>
#include <string>

namespace tandem::test {

/// A new empty folder. The destructor removes it with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  /// Creates the folder in memory if the system supports it (/dev/shm), for small files that are overwritten thousands
  /// of
  /// times. Some file systems write each of them to disk.
  static TemporaryFolder in_memory();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Returns the number of files and folders directly in this folder.
  size_t count() const;

 private:
  explicit TemporaryFolder(const std::string& within);
  std::string path_;
};

void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

/// Returns `bytes` after one to three random changes: bytes set, bits flipped, ends cut, bytes inserted or duplicated.
std::string mutate(std::string bytes, std::mt19937_64& random);

}  // namespace tandem::test
