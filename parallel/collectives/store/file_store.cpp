// Implements FileStore. The file begins with a line that identifies the format. Records follow: each has a key and its
// new value, or no value if the key was deleted. A writer locks the file exclusively, reads the records that other
// processes have appended, and appends one record.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/key_values.h"
#include "tandem/parallel/collectives/store/socket.h"
#include "tandem/parallel/collectives/store/stores.h"

namespace tandem::distributed {
namespace {

using std::chrono::milliseconds;
constexpr char kFileMagic[] = "tandem file store 1\n";
// kUser: prefix of users' keys. kFinished: key of the number of stores that have been destroyed.
constexpr char kUser = 'u', kFinished[] = "finished";
constexpr milliseconds kPause(5);         // interval at which find() polls for a key
constexpr uint32_t kNone = ~uint32_t(0);  // length of a value that marks a deleted key

}  // namespace

struct FileStore::State {
  std::string path;
  int workers;
  Descriptor file;
  // serializes the threads of this process, which share the file lock because it belongs to the descriptor
  std::mutex mutex;
  KeyValues values;  // keys and values in the file up to offset `read`
  off_t read = 0;

  void check(bool good, const char* what) const {
    TANDEM_CHECK_AS(DistributedError, good, "FileStore: ", path, " cannot be ", what, ": ", std::strerror(errno));
  }
  /// Runs f() while the file is locked, after reading the records that other processes have appended.
  template <class F> auto locked(int how, const F& f) {
    struct Unlock {
      int fd;
      ~Unlock() { ::flock(fd, LOCK_UN); }
    };
    const std::lock_guard one_thread(mutex);
    while (::flock(file.get(), how) != 0) check(errno == EINTR, "locked");
    const Unlock unlock{file.get()};
    read_more();
    return f();
  }
  /// Runs f(values) while the file is locked exclusively, and appends a record with the new value of `key`.
  template <class F> auto change(const std::string& key, const F& f) {
    return locked(LOCK_EX, [&] {
      const auto result = f(values);
      const std::optional<std::string> value = values.find(key);
      const uint32_t lengths[] = {static_cast<uint32_t>(key.size()),
                                  value ? static_cast<uint32_t>(value->size()) : kNone};
      append(std::string(reinterpret_cast<const char*>(lengths), sizeof lengths) + key + value.value_or(""));
      return result;
    });
  }
  off_t size() const {
    struct stat status {};
    check(::fstat(file.get(), &status) == 0, "read");
    return status.st_size;
  }
  std::string read_at(off_t offset, size_t bytes) const {
    std::string got(bytes, '\0');
    for (size_t at = 0; at < bytes;) {
      const ssize_t n = ::pread(file.get(), got.data() + at, bytes - at, offset + static_cast<off_t>(at));
      check(n > 0 || (n < 0 && errno == EINTR), "read");
      at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return got;
  }
  void read_more() {
    TANDEM_CHECK_AS(DistributedError, size() >= read, "FileStore: ", path, " was truncated while in use");
    const std::string bytes = read_at(read, static_cast<size_t>(size() - read));
    size_t at = 0;
    if (read == 0 && !bytes.empty()) {
      at = std::strlen(kFileMagic);
      TANDEM_CHECK_AS(DistributedError, bytes.compare(0, at, kFileMagic) == 0, "FileStore: ", path,
                      " is not a file of a FileStore; accepted: a file that a FileStore made, or no file");
    }
    uint32_t lengths[2];
    while (bytes.size() - at >= sizeof lengths) {
      std::memcpy(lengths, bytes.data() + at, sizeof lengths);
      const size_t key = lengths[0], value = lengths[1] == kNone ? 0 : lengths[1];
      if (bytes.size() - at < sizeof lengths + key + value) break;  // the last record is incomplete
      const std::string name = bytes.substr(at + sizeof lengths, key);
      if (lengths[1] == kNone)
        values.erase(name);
      else
        values.set(name, bytes.substr(at + sizeof lengths + key, value));
      at += sizeof lengths + key + value;
    }
    read += static_cast<off_t>(at);
  }
  /// Appends bytes after the last complete record. This overwrites an incomplete record that a killed process has left.
  void append(const std::string& bytes) {
    check(::ftruncate(file.get(), read) == 0, "written");
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::pwrite(file.get(), bytes.data() + at, bytes.size() - at, read + static_cast<off_t>(at));
      check(n > 0 || (n < 0 && errno == EINTR), "written");
      at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    read += static_cast<off_t>(bytes.size());
  }
  State(const std::string& name, int numWorkers)
      : path(name), workers(numWorkers), file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    check(static_cast<bool>(file), "opened");
    locked(LOCK_EX, [this] {
      if (size() == 0) append(kFileMagic);
    });
  }
};

FileStore::FileStore(const std::string& path, int numWorkers) : state_(new State(path, numWorkers)) {}
FileStore::~FileStore() {
  if (state_->workers == 0) return;
  try {
    const int64_t finished = state_->change(kFinished, [](KeyValues& v) { return v.add(kFinished, 1); });
    if (finished >= state_->workers) ::unlink(state_->path.c_str());
  } catch (const std::exception&) {
    return;  // another process has already removed the file
  }
}
const std::string& FileStore::getPath() const { return state_->path; }
void FileStore::set(const std::string& key, const std::string& value) {
  TANDEM_CHECK(key.size() < kNone && value.size() < kNone, "FileStore: a key of ", key.size(), " and a value of ",
               value.size(), " bytes; accepted: less than 4 GiB");
  state_->change(kUser + key, [&](KeyValues& v) { return v.set(kUser + key, value), 0; });
}
int64_t FileStore::add(const std::string& key, int64_t amount) {
  return state_->change(kUser + key, [&](KeyValues& v) { return v.add(kUser + key, amount); });
}
std::string FileStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->change(kUser + key, [&](KeyValues& v) { return v.compare_set(kUser + key, expected, desired); });
}
bool FileStore::delete_key(const std::string& key) {
  return state_->change(kUser + key, [&](KeyValues& v) { return v.erase(kUser + key); });
}
int64_t FileStore::num_keys() {
  return state_->locked(LOCK_SH, [this] { return state_->values.count(std::string(1, kUser)); });
}
std::optional<std::string> FileStore::find(const std::string& key, milliseconds timeout) {
  for (const Deadline deadline = after(timeout);;) {
    if (auto value = state_->locked(LOCK_SH, [&] { return state_->values.find(kUser + key); })) return value;
    const milliseconds left = left_until(deadline);
    if (left.count() == 0) return {};
    std::this_thread::sleep_for(std::min(left, kPause));
  }
}

}  // namespace tandem::distributed
