#include "tandem/tools/ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tandem/tools/rank_process.h"

namespace tandem::tools {
namespace {

using distributed::after;
using distributed::Deadline;
using distributed::Descriptor;
using distributed::left_until;

/// Signals, as bytes to be read.
class Signals {
 public:
  Signals() : pipe_(make_pipe()) {
    end_ = pipe_.write.get();
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const int error = errno;
      const char byte = static_cast<char>(signal);
      while (::write(end_, &byte, 1) < 0 && errno == EINTR) {}
      errno = error;
    };
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  int fd() const { return pipe_.read.get(); }
  int next() const {
    char byte = 0;
    return ::read(fd(), &byte, 1) == 1 ? byte : 0;
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
  static inline volatile int end_ = -1;
  Pipe pipe_;
  struct sigaction before_[std::size(kSignals)];
};

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else if (errno == EAGAIN)
      distributed::wait_for(fd, POLLOUT, after(std::chrono::seconds(1)));
    else
      TANDEM_CHECK(errno == EINTR, "launch: cannot write the ranks' output: ", std::strerror(errno));
  }
}

/// What a rank writes, passed on by whole lines.
struct Output {
  Descriptor from;
  int to;
  std::string prefix;
  std::string rest = {}, last_line = {};

  /// Reads what there is.
  void copy() {
    char chunk[1 << 16];
    while (from) {
      const ssize_t n = ::read(from.get(), chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        finish();
      } else {
        rest.append(chunk, static_cast<size_t>(n));
        pass_on(rest.size() > kLongest ? rest.size() : rest.rfind('\n') + 1);
      }
    }
  }
  /// A last line may lack its end.
  void finish() {
    from.close();
    pass_on(rest.size());
  }

 private:
  static constexpr size_t kLongest = 1 << 20;  // a longer line is cut
  void pass_on(size_t length) {
    std::string text;
    for (size_t at = 0; at < length;) {
      const size_t end = std::min(rest.find('\n', at), length);
      const std::string line = rest.substr(at, end - at);
      text += prefix + line + "\n";
      if (line.find_first_not_of(" \t\r") != std::string::npos) last_line = line;
      at = end + 1;
    }
    rest.erase(0, length);
    write_all(to, text);
  }
};

struct Rank {
  RankProcess process;
  Output out, error;
  bool running = true;
};

class Job {
 public:
  Job(int count, const std::vector<std::string>& command, const RankOptions& options)
      : options_(options), token_(random_token()), store_(token_) {
    if (options.timeout.count() > 0) timeout_ = after(options.timeout);
    ranks_.reserve(static_cast<size_t>(count));
    for (int r = 0; r < count; ++r) {
      RankProcess process = start_rank(r, count, command, store_.port(), token_, keeper_.group());
      const std::string prefix = "[" + std::to_string(r) + "] ";
      Output out{std::move(process.out), STDOUT_FILENO, prefix}, error{std::move(process.error), STDERR_FILENO, prefix};
      ranks_.push_back({std::move(process), std::move(out), std::move(error)});
    }
  }

  int run() {
    while (std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.running; })) {
      wait_for_something();
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) interrupted(signal);
      }
      for (Rank& rank : ranks_) rank.out.copy(), rank.error.copy();
      for (size_t r = 0; r < ranks_.size(); ++r) reap(r);
      if (timeout_ && left_until(*timeout_).count() == 0) {
        timeout_.reset();
        fail("the job did not end within " + std::to_string(options_.timeout.count()) + " s", 124, SIGTERM, {});
      }
      if (next_time_ && left_until(*next_time_).count() == 0) end_ranks(next_signal_);
    }
    keeper_.end_group();
    for (Rank& rank : ranks_)
      for (Output* output : {&rank.out, &rank.error}) {
        output->copy();
        output->finish();  // whoever still holds its other end has left the job
      }
    if (!cause_.empty()) write_all(STDERR_FILENO, "tandem launch: " + cause_ + "\n");
    return status_;
  }

 private:
  void wait_for_something() {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
    for (const Rank& rank : ranks_)
      for (const Output* output : {&rank.out, &rank.error})
        if (output->from) fds.push_back({output->from.get(), POLLIN, 0});
    Deadline first = after(std::chrono::hours(1));
    if (timeout_) first = std::min(first, *timeout_);
    if (next_time_) first = std::min(first, *next_time_);
    ::poll(fds.data(), fds.size(), static_cast<int>(left_until(first).count()));  // EINTR: a signal, as a byte
  }
  void reap(size_t r) {
    int status = 0;
    if (!ranks_[r].running || ::waitpid(ranks_[r].process.pid, &status, WNOHANG) != ranks_[r].process.pid) return;
    ranks_[r].running = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    ranks_[r].out.copy();
    ranks_[r].error.copy();
    std::string how = "exited with status " + std::to_string(WEXITSTATUS(status));
    if (WIFSIGNALED(status))
      how = "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    const std::string& said = ranks_[r].error.rest.empty() ? ranks_[r].error.last_line : ranks_[r].error.rest;
    fail("rank " + std::to_string(r) + " " + how + (said.empty() ? "" : ": " + said),
         WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), SIGTERM, options_.patience);
  }
  /// The first cause counts. After `wait` the ranks get the signal.
  void fail(const std::string& cause, int status, int signal, std::chrono::milliseconds wait) {
    if (!cause_.empty()) return;
    cause_ = cause;
    status_ = status;
    store_.set(distributed::kFailureKey, cause.substr(0, 4096));
    next_signal_ = signal;
    next_time_ = after(wait);
  }
  void interrupted(int signal) {
    if (cause_.empty())
      fail(std::string("ended by ") + ::strsignal(signal), 128 + signal, signal, {});
    else
      end_ranks(SIGKILL);  // who asks twice is in a hurry
  }
  void end_ranks(int signal) {
    ::kill(-keeper_.group(), signal);
    next_time_ = after(signal == SIGKILL ? std::chrono::hours(1) : options_.grace);
    next_signal_ = SIGKILL;
  }

  RankOptions options_;
  Signals signals_;
  std::string token_;
  distributed::StoreServer store_;
  Keeper keeper_;
  std::vector<Rank> ranks_;
  std::string cause_;
  int status_ = 0;
  std::optional<Deadline> timeout_, next_time_;
  int next_signal_ = SIGTERM;
};

}  // namespace

int run_processes(int count, const std::vector<std::string>& command, const RankOptions& options) {
  TANDEM_CHECK(count >= 1, "launch: ", count, " ranks; accepted: 1 or more");
  TANDEM_CHECK(!command.empty(), "launch: no program is given");
  std::fflush(nullptr);
  return Job(count, command, options).run();
}

}  // namespace tandem::tools
