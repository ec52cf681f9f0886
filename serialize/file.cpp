// Implements FileSource and MemorySource, which read bytes, and FileSink, which writes a temporary file and renames it.
#include "tandem/serialize/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tandem::detail {

void ByteSource::read(uint64_t at, void* to, uint64_t bytes) const {
  TANDEM_CHECK(at <= size_ && bytes <= size_ - at, name_, ": cannot read ", bytes, " bytes from position ", at,
               ", because it has only ", size_, " bytes; it is truncated or damaged");
  if (bytes > 0) read_some(at, static_cast<char*>(to), bytes);
}

FileSource::FileSource(const char* op, const std::string& path) : ByteSource(path), op_(op) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  TANDEM_CHECK(fd_ >= 0, op_, ": cannot open ", path, ": ", std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  const int error = errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(fd_);
  TANDEM_CHECK(known, op_, ": cannot get the status of ", path, ": ", std::strerror(error));
  TANDEM_FAIL(op_, ": ", path, " is not a file; accepted: a regular file");
}
FileSource::~FileSource() { ::close(fd_); }
void FileSource::read_some(uint64_t at, char* to, uint64_t bytes) const {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(fd_, to + done, std::min<uint64_t>(bytes - done, 1 << 30), static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    TANDEM_CHECK(n >= 0, op_, ": reading ", name(), " failed: ", std::strerror(errno));
    TANDEM_CHECK(n > 0, op_, ": ", name(), " ended ", bytes - done,
                 " bytes early while it was read; is another program changing it?");
    done += static_cast<uint64_t>(n);
  }
}
std::shared_ptr<char> FileSource::map_file() const {
  const uint64_t size = this->size();
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd_, 0);
  TANDEM_CHECK(at != MAP_FAILED, op_, ": cannot map the ", size, " bytes of ", name(), ": ", std::strerror(errno));
  return {static_cast<char*>(at), [size](char* mapped) { ::munmap(mapped, size); }};
}

void MemorySource::read_some(uint64_t at, char* to, uint64_t bytes) const {
  if (bytes > 0) std::memcpy(to, data_ + at, bytes);  // memcpy does not accept null pointers, even for 0 bytes
}

FileSink::FileSink(const char* op, const std::string& path) : op_(op), path_(path) {
  struct stat status;  // only regular files: commit() would replace a device or a pipe
  TANDEM_CHECK(::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode), op_, ": ", path,
               " exists and is not a file; accepted: the path of a regular file, or a new path");
  static std::atomic<uint64_t> count{0};  // makes the temporary name unique within the process
  temporary_path_ = path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(count++);
  fd_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  TANDEM_CHECK(fd_ >= 0, op_, ": cannot open ", temporary_path_, ": ", std::strerror(errno));
}
FileSink::~FileSink() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}
void FileSink::write(const void* from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::write(fd_, static_cast<const char*>(from) + done, std::min<uint64_t>(bytes - done, 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    TANDEM_CHECK(n > 0, op_, ": writing ", path_, " failed: ", std::strerror(errno));
    done += static_cast<uint64_t>(n);
  }
}
void FileSink::write_at(uint64_t at, const void* from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd_, static_cast<const char*>(from) + done, std::min<uint64_t>(bytes - done, 1 << 30),
                               static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    TANDEM_CHECK(n > 0, op_, ": writing ", path_, " failed: ", std::strerror(errno));
    done += static_cast<uint64_t>(n);
  }
}
void FileSink::commit() {
  TANDEM_CHECK(::fsync(fd_) == 0, op_, ": writing ", path_, " to the disk failed: ", std::strerror(errno));
  const int closed = ::close(std::exchange(fd_, -1));
  TANDEM_CHECK(closed == 0, op_, ": closing ", path_, " failed: ", std::strerror(errno));
  TANDEM_CHECK(::rename(temporary_path_.c_str(), path_.c_str()) == 0, op_, ": cannot rename ", temporary_path_, " to ",
               path_, ": ", std::strerror(errno));
  temporary_path_.clear();
  // Sync the folder, so that the rename reaches the disk. Errors are ignored, because some file systems cannot sync
  // folders.
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return;
  (void)::fsync(folder_fd);
  ::close(folder_fd);
}

}  // namespace tandem::detail
