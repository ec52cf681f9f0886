// FolderLock: one job at a time writes into a folder.
#pragma once
#include <memory>
#include <string>

#include "tandem/core/internal.h"

namespace tandem::detail {

/// A lock on a folder, of this process. The system releases it when the process ends, however it ends.
class FolderLock {
 public:
  /// Returns the lock that this process has on the folder already, or a new one; null if another process has it. On a
  /// file system without locks, and in a folder that cannot be written to, nobody is kept out.
  static std::shared_ptr<FolderLock> try_lock(const std::string& folder);
  /// Names the process that has the lock, such as "process 12 on host"; "another process" if it is not known.
  static std::string owner(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;  // -1: there is no lock to be had
};

}  // namespace tandem::detail
