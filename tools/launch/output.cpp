// Implements Sink, Output and Sinks, which read the ranks' output and write it on line by line, without blocking if the
// reader is slow.
#include "tandem/tools/launch/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {

Sink::Sink(const std::string& path)
    : name_(path),
      owned_fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      fd_(owned_fd_.get()) {
  TANDEM_CHECK(owned_fd_, "launch: cannot open ", path, ": ", std::strerror(errno));
}
void Sink::write_pending() {
  // If poll() reports a pipe as writable, writing up to PIPE_BUF bytes does not block. O_NONBLOCK is not used, because
  // it would affect every other program that has the pipe open.
  pollfd one{fd_, POLLOUT, 0};
  if (empty() || ::poll(&one, 1, 0) <= 0) return;
  const ssize_t n = ::write(fd_, pending_.data() + num_written_bytes_,
                            std::min<size_t>(pending_.size() - num_written_bytes_, PIPE_BUF));
  if (n < 0 && errno != EINTR && errno != EAGAIN) return drop_pending(errno);
  if (n > 0) num_written_bytes_ += static_cast<size_t>(n);
  if (2 * num_written_bytes_ < pending_.size()) return;
  pending_.erase(0, num_written_bytes_);
  num_written_bytes_ = 0;
}
void Sink::drop_pending(int error) {
  TANDEM_CHECK(error != EPIPE, "launch: cannot write the ranks' output: ", std::strerror(error));
  if (num_dropped_bytes_ == 0)
    error_ = "cannot write " + name_ + ": " + std::strerror(error) + "; the ranks continue, and this output is lost";
  num_dropped_bytes_ += pending_.size() - num_written_bytes_;
  pending_.clear();
  num_written_bytes_ = 0;
}
std::string Sink::take_error() { return std::exchange(error_, {}); }

bool Output::read_once() {
  constexpr size_t kMaxLineLength = 1 << 20;  // longer lines are split
  char chunk[1 << 16];
  const ssize_t n = source_fd_ ? ::read(source_fd_.get(), chunk, sizeof chunk) : -1;
  if (n < 0) return source_fd_ && errno == EINTR;
  if (n == 0) {
    finish();
    return false;
  }
  buffer_.append(chunk, static_cast<size_t>(n));
  forward_lines(buffer_.size() > kMaxLineLength ? buffer_.size() : buffer_.rfind('\n') + 1);
  return true;
}
void Output::read_available() {
  if (!sink_->is_full()) read_once();
}
void Output::read_remaining() {
  // 16 reads of 64 KiB are more than a pipe can hold.
  for (int i = 0; i < 16 && read_once(); ++i) {}
}
void Output::finish() {
  source_fd_.close();
  forward_lines(buffer_.size());
}
void Output::forward_lines(size_t length) {
  std::string text;
  for (size_t at = 0; at < length;) {
    const size_t end = std::min(buffer_.find('\n', at), length);
    const std::string line = buffer_.substr(at, end - at);
    text += prefix_ + line + "\n";
    if (line.find_first_not_of(" \t\r") != std::string::npos) last_line_ = line;
    at = end + 1;
  }
  buffer_.erase(0, length);
  sink_->append(text);
}

Sinks::Sinks(const std::string& folder, int first_rank, int ranks)
    : writes_to_files_(!folder.empty()), first_rank_(first_rank) {
  sinks_.push_back(std::make_unique<Sink>(STDOUT_FILENO, "the standard output"));
  sinks_.push_back(std::make_unique<Sink>(STDERR_FILENO, "the standard error"));
  if (!writes_to_files_) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check_usage(!error, "--output ", folder, " cannot be created: ", error.message());
  for (int r = first_rank; r < first_rank + ranks; ++r)
    for (const char* end : {".out", ".err"})
      sinks_.push_back(std::make_unique<Sink>(folder + "/rank_" + std::to_string(r) + end));
}
Output Sinks::make_output(distributed::Descriptor from, bool is_error, int local) {
  const size_t at = (writes_to_files_ ? 2 + 2 * static_cast<size_t>(local) : 0) + (is_error ? 1 : 0);
  return {std::move(from), *sinks_[at], writes_to_files_ ? "" : "[" + std::to_string(first_rank_ + local) + "] "};
}
void Sinks::write_pending(const std::string& who) {
  for (const auto& sink : sinks_) {
    sink->write_pending();
    if (const std::string text = sink->take_error(); !text.empty()) launcher_stderr().append(who + ": " + text + "\n");
  }
}
void Sinks::report_dropped(const std::string& who) {
  for (const auto& sink : sinks_)
    if (sink->num_dropped_bytes() > 0)
      launcher_stderr().append(who + ": " + sink->name() + " lacks " + std::to_string(sink->num_dropped_bytes()) +
                               " bytes that were written\n");
}
bool Sinks::empty() const {
  return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->empty(); });
}

}  // namespace tandem::tools
