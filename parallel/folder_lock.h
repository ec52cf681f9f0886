// FolderLock: lets only one job at a time write into a folder.
#pragma once
#include <memory>
#include <string>

#include "tandem/core/internal.h"

namespace tandem::detail {

/// A lock on a folder, held by this process. The system releases it when the process ends, even if it crashes.
class FolderLock {
 public:
  /// Returns this process's lock on the folder, and takes it if necessary. Returns null if another process holds the
  /// lock. If the file system has no locks, or if the folder is not writable, returns a lock that locks nothing.
  static std::shared_ptr<FolderLock> try_lock(const std::string& folder);
  /// Returns the process that holds the lock, such as "process 12 on host"; "another process" if it is not known.
  static std::string owner(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;  // descriptor of the lock file; -1 if it could not be opened, so that nothing is locked
};

}  // namespace tandem::detail
