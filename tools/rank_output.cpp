#include "tandem/tools/rank_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "tandem/core/error.h"

namespace tandem::tools {

void Sink::write_some() {
  // So much a pipe that polls as writable takes without waiting. To make it non-blocking would make it so for all other
  // programs that share it.
  pollfd one{fd_, POLLOUT, 0};
  if (empty() || ::poll(&one, 1, 0) <= 0) return;
  const ssize_t n = ::write(fd_, pending_.data() + written_, std::min<size_t>(pending_.size() - written_, PIPE_BUF));
  TANDEM_CHECK(n >= 0 || errno == EINTR || errno == EAGAIN,
               "launch: cannot write the ranks' output: ", std::strerror(errno));
  if (n > 0) written_ += static_cast<size_t>(n);
  if (2 * written_ < pending_.size()) return;
  pending_.erase(0, written_);
  written_ = 0;
}

bool Output::read_once() {
  constexpr size_t kLongest = 1 << 20;  // a longer line is cut
  char chunk[1 << 16];
  const ssize_t n = from_ ? ::read(from_.get(), chunk, sizeof chunk) : -1;
  if (n < 0) return from_ && errno == EINTR;
  if (n == 0) {
    finish();
    return false;
  }
  rest_.append(chunk, static_cast<size_t>(n));
  pass_on(rest_.size() > kLongest ? rest_.size() : rest_.rfind('\n') + 1);
  return true;
}
void Output::copy_some() {
  if (!to_->full()) read_once();
}
void Output::copy_rest() {
  for (int i = 0; i < 16 && read_once(); ++i) {}  // a MiB is more than a pipe holds
}
void Output::finish() {
  from_.close();
  pass_on(rest_.size());
}
void Output::pass_on(size_t length) {
  std::string text;
  for (size_t at = 0; at < length;) {
    const size_t end = std::min(rest_.find('\n', at), length);
    const std::string line = rest_.substr(at, end - at);
    text += prefix_ + line + "\n";
    if (line.find_first_not_of(" \t\r") != std::string::npos) last_line_ = line;
    at = end + 1;
  }
  rest_.erase(0, length);
  to_->add(text);
}

}  // namespace tandem::tools
