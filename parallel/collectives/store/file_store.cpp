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
// kUserPrefix: prefix of users' keys. kFinishedKey: key of the number of stores that have been destroyed.
constexpr char kUserPrefix = 'u', kFinishedKey[] = "finished";
constexpr milliseconds kPollInterval(5);           // interval at which find() polls for a key
constexpr uint32_t kDeletedLength = ~uint32_t(0);  // length of a value that marks a deleted key

}  // namespace

struct FileStore::State {
  std::string path;
  int num_workers;
  Descriptor file;
  // serializes the threads of this process, which share the file lock because it belongs to the descriptor
  std::mutex mutex;
  KeyValues values;  // keys and values in the file up to offset `read_offset`
  off_t read_offset = 0;

  void check_io(bool succeeded, const char* what) const {
    TANDEM_CHECK_AS(DistributedError, succeeded, "FileStore: ", path, " cannot be ", what, ": ", std::strerror(errno));
  }
  /// Runs f() while the file is locked, after reading the records that other processes have appended.
  template <class F> auto with_lock(int lock_type, const F& f) {
    struct Unlock {
      int fd;
      ~Unlock() { ::flock(fd, LOCK_UN); }
    };
    const std::lock_guard one_thread(mutex);
    while (::flock(file.get(), lock_type) != 0) check_io(errno == EINTR, "locked");
    const Unlock unlock{file.get()};
    read_new_records();
    return f();
  }
  /// Runs f(values) while the file is locked exclusively, and appends a record with the new value of `key`.
  template <class F> auto update_values(const std::string& key, const F& f) {
    return with_lock(LOCK_EX, [&] {
      const auto result = f(values);
      const std::optional<std::string> value = values.find(key);
      const uint32_t lengths[] = {static_cast<uint32_t>(key.size()),
                                  value ? static_cast<uint32_t>(value->size()) : kDeletedLength};
      append_bytes(std::string(reinterpret_cast<const char*>(lengths), sizeof lengths) + key + value.value_or(""));
      return result;
    });
  }
  off_t file_size() const {
    struct stat status {};
    check_io(::fstat(file.get(), &status) == 0, "read");
    return status.st_size;
  }
  std::string read_at(off_t offset, size_t bytes) const {
    std::string got(bytes, '\0');
    for (size_t at = 0; at < bytes;) {
      const ssize_t n = ::pread(file.get(), got.data() + at, bytes - at, offset + static_cast<off_t>(at));
      check_io(n > 0 || (n < 0 && errno == EINTR), "read");
      at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return got;
  }
  void read_new_records() {
    TANDEM_CHECK_AS(DistributedError, file_size() >= read_offset, "FileStore: ", path,
                    " became shorter while in use; no other program may change it");
    const std::string bytes = read_at(read_offset, static_cast<size_t>(file_size() - read_offset));
    size_t at = 0;
    if (read_offset == 0 && !bytes.empty()) {
      at = std::strlen(kFileMagic);
      TANDEM_CHECK_AS(DistributedError, bytes.compare(0, at, kFileMagic) == 0, "FileStore: ", path,
                      " is not a file of a FileStore; accepted: a file that a FileStore made, or no file");
    }
    uint32_t lengths[2];
    while (bytes.size() - at >= sizeof lengths) {
      std::memcpy(lengths, bytes.data() + at, sizeof lengths);
      const size_t key = lengths[0], value = lengths[1] == kDeletedLength ? 0 : lengths[1];
      if (bytes.size() - at < sizeof lengths + key + value) break;  // the last record is incomplete
      const std::string name = bytes.substr(at + sizeof lengths, key);
      if (lengths[1] == kDeletedLength)
        values.erase(name);
      else
        values.set(name, bytes.substr(at + sizeof lengths + key, value));
      at += sizeof lengths + key + value;
    }
    read_offset += static_cast<off_t>(at);
  }
  /// Appends bytes after the last complete record. This overwrites an incomplete record that a killed process has left.
  void append_bytes(const std::string& bytes) {
    check_io(::ftruncate(file.get(), read_offset) == 0, "written");
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n =
          ::pwrite(file.get(), bytes.data() + at, bytes.size() - at, read_offset + static_cast<off_t>(at));
      check_io(n > 0 || (n < 0 && errno == EINTR), "written");
      at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    read_offset += static_cast<off_t>(bytes.size());
  }
  State(const std::string& name, int numWorkers)
      : path(name), num_workers(numWorkers), file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    check_io(static_cast<bool>(file), "opened");
    with_lock(LOCK_EX, [this] {
      if (file_size() == 0) append_bytes(kFileMagic);
    });
  }
};

FileStore::FileStore(const std::string& path, int numWorkers) : state_(new State(path, numWorkers)) {}
FileStore::~FileStore() {
  if (state_->num_workers == 0) return;
  try {
    const int64_t finished = state_->update_values(kFinishedKey, [](KeyValues& v) { return v.add(kFinishedKey, 1); });
    if (finished >= state_->num_workers) ::unlink(state_->path.c_str());
  } catch (const std::exception&) {
    return;  // another process has already removed the file
  }
}
const std::string& FileStore::getPath() const { return state_->path; }
void FileStore::set(const std::string& key, const std::string& value) {
  TANDEM_CHECK(key.size() < kDeletedLength && value.size() < kDeletedLength, "FileStore: a key of ", key.size(),
               " and a value of ", value.size(), " bytes; accepted: less than 4 GiB each");
  state_->update_values(kUserPrefix + key, [&](KeyValues& v) { return v.set(kUserPrefix + key, value), 0; });
}
int64_t FileStore::add(const std::string& key, int64_t amount) {
  return state_->update_values(kUserPrefix + key, [&](KeyValues& v) { return v.add(kUserPrefix + key, amount); });
}
std::string FileStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->update_values(kUserPrefix + key,
                               [&](KeyValues& v) { return v.compare_set(kUserPrefix + key, expected, desired); });
}
bool FileStore::delete_key(const std::string& key) {
  return state_->update_values(kUserPrefix + key, [&](KeyValues& v) { return v.erase(kUserPrefix + key); });
}
int64_t FileStore::num_keys() {
  return state_->with_lock(LOCK_SH, [this] { return state_->values.count(std::string(1, kUserPrefix)); });
}
std::optional<std::string> FileStore::find(const std::string& key, milliseconds timeout) {
  for (const Deadline deadline = deadline_after(timeout);;) {
    if (auto value = state_->with_lock(LOCK_SH, [&] { return state_->values.find(kUserPrefix + key); })) return value;
    const milliseconds left = time_until(deadline);
    if (left.count() == 0) return {};
    std::this_thread::sleep_for(std::min(left, kPollInterval));
  }
}

}  // namespace tandem::distributed
