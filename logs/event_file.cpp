// EventFile: names and creates the file, adds length and checksums to each record, and appends the records.
#include "tandem/logs/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tandem/logs/crc32c.h"
#include "tandem/logs/protobuf.h"
#include "tandem/logs/summary.h"

namespace tandem::logs {

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
std::string get_host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::string encode_tfrecord(const std::string& bytes) {
  std::string record;
  record.reserve(bytes.size() + 16);
  append_little_endian(record, bytes.size(), 8);
  append_little_endian(record, masked_crc32c(record), 4);
  record += bytes;
  append_little_endian(record, masked_crc32c(bytes), 4);
  return record;
}

EventFile::EventFile(const std::string& folder, const SummaryWriterOptions& options)
    : max_queue_(options.max_queue()), flush_interval_(options.flush_secs()) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TANDEM_CHECK(!error, "SummaryWriter: cannot make the folder ", folder, ": ", error.message());
  static std::atomic<int> files_of_this_process = 0;
  const double now = wall_time_now();
  char name[512];
  std::snprintf(name, sizeof name, "/events.out.tfevents.%010lld.%s.%d.%d", static_cast<long long>(now),
                get_host_name().c_str(), static_cast<int>(::getpid()), files_of_this_process++);
  path_ = folder + name + options.filename_suffix();
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  TANDEM_CHECK(fd_ >= 0, "SummaryWriter: cannot write ", path_, ": ", std::strerror(errno));
  add_event(version_event(now));
  flush();  // so that TensorBoard shows the run at once
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
  ::close(fd_);
}

void EventFile::add_event(const std::string& event) {
  pending_records_ += encode_tfrecord(event);
  if (++num_pending_events_ >= max_queue_ || std::chrono::steady_clock::now() - last_flush_time_ >= flush_interval_)
    flush();
}

void EventFile::flush() {
  const std::string bytes = std::move(pending_records_);
  pending_records_.clear();
  num_pending_events_ = 0;  // reset even if the write fails, because the file may then hold a part of the events
  last_flush_time_ = std::chrono::steady_clock::now();
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(fd_, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno == EINTR) continue;
    TANDEM_CHECK(written >= 0, "SummaryWriter: cannot write ", path_, ": ", std::strerror(errno));
    at += static_cast<size_t>(written);
  }
}

}  // namespace tandem::logs
