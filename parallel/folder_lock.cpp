// Implements FolderLock by flock(2) on a file, whose text names the process that holds the lock.
#include "tandem/parallel/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

namespace tandem::detail {
namespace {

/// Returns the path of the lock file. The file is not removed when the lock is released, because this could remove the
/// file of the next owner.
std::string lock_file_path(const std::string& folder) { return folder + "/.owner"; }

}  // namespace

std::shared_ptr<FolderLock> FolderLock::try_lock(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<FolderLock>> locks;  // locks that this process holds, by folder
  const std::lock_guard guard(mutex);
  std::error_code error;
  std::weak_ptr<FolderLock>& known = locks[std::filesystem::canonical(folder, error).string()];
  if (auto mine = known.lock()) return mine;
  const int fd = ::open(lock_file_path(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd);
    return nullptr;
  }
  char host[256] = "an unknown host";
  ::gethostname(host, sizeof host - 1);
  const std::string text = "process " + std::to_string(::getpid()) + " on " + host + "\n";
  // ignore errors, because the text is only for error messages
  if (::ftruncate(fd, 0) != 0 || ::write(fd, text.data(), text.size()) < 0) {}
  const std::shared_ptr<FolderLock> made(new FolderLock(fd));
  known = made;
  return made;
}
std::string FolderLock::owner(const std::string& folder) {
  std::ifstream file(lock_file_path(folder));
  std::string line;
  return std::getline(file, line) && !line.empty() ? line : "another process";
}
FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace tandem::detail
