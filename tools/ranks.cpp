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

#include "tandem/tools/rank_output.h"
#include "tandem/tools/rank_process.h"

namespace tandem::tools {
namespace {

using distributed::after;
using distributed::Clock;
using distributed::Deadline;
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

struct Rank {
  RankProcess process;
  Output out, error;
  bool running = true;
  int stopped_by = 0;  // a signal
};
std::string name_of(int signal) { return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"; }

class Job {
 public:
  Job(int count, const std::vector<std::string>& command, const RankOptions& options)
      : options_(options), token_(random_token()), store_(token_, "127.0.0.1", 0, kReapTime) {
    if (options.timeout.count() > 0) timeout_ = after(options.timeout);
    ranks_.reserve(static_cast<size_t>(count));
    for (int r = 0; r < count; ++r) {
      RankProcess process = start_rank(r, count, command, store_.port(), token_, keeper_.group());
      const std::string prefix = "[" + std::to_string(r) + "] ";
      Output out(std::move(process.out), out_, prefix), error(std::move(process.error), error_, prefix);
      ranks_.push_back({std::move(process), std::move(out), std::move(error)});
    }
  }

  bool interrupted() const { return interrupted_; }
  int run() {
    while (any_running()) {
      wait_for_something();
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) interrupt(signal);
      }
      for (Rank& rank : ranks_) rank.out.copy_some(), rank.error.copy_some();
      out_.write_some();
      error_.write_some();
      for (size_t r = 0; r < ranks_.size(); ++r) reap(r);
      if (timeout_ && left_until(*timeout_).count() == 0) {
        timeout_.reset();
        fail("the job did not end within " + std::to_string(options_.timeout.count()) + " s", 124, SIGTERM, {});
      }
      if (next_time_ && (left_until(*next_time_).count() == 0 || is_hopeless())) end_ranks(next_signal_);
    }
    keeper_.end_group();
    for (Rank& rank : ranks_)
      for (Output* output : {&rank.out, &rank.error}) {
        output->copy_rest();
        output->finish();  // whoever still holds its other end has left the job
      }
    if (!cause_.empty()) error_.add(options_.name + ": " + cause_ + "\n");
    write_rest();
    return status_;
  }

 private:
  static constexpr std::chrono::milliseconds kReapTime{200};  // until a rank's end is known, with its status

  bool any_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.running; });
  }
  /// After a failure: nobody is left who could end of himself.
  bool is_hopeless() const {
    return next_signal_ == SIGTERM && any_running() &&
           std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return !r.running || r.stopped_by != 0; });
  }
  void wait_for_something(Deadline first = after(std::chrono::hours(1))) {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
    for (const Rank& rank : ranks_)
      for (const Output* output : {&rank.out, &rank.error})
        if (output->fd() >= 0) fds.push_back({output->fd(), POLLIN, 0});
    for (const Sink* sink : {&out_, &error_})
      if (!sink->empty()) fds.push_back({sink->fd(), POLLOUT, 0});
    if (timeout_) first = std::min(first, *timeout_);
    if (next_time_) first = std::min(first, *next_time_);
    ::poll(fds.data(), fds.size(), static_cast<int>(left_until(first).count()));  // EINTR: a signal, as a byte
  }
  /// The ranks have ended. A reader that does not take the rest is waited for until a signal, the timeout, or a second
  /// after either.
  void write_rest() {
    Deadline last = status_ == 124 || status_ > 128 ? after(std::chrono::seconds(1)) : Deadline::max();
    if (timeout_) last = std::min(last, *timeout_ + std::chrono::seconds(1));
    timeout_.reset(), next_time_.reset();
    while (!(out_.empty() && error_.empty()) && Clock::now() < last) {
      wait_for_something(last);
      out_.write_some();
      error_.write_some();
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) return;
      }
    }
  }
  void reap(size_t r) {
    Rank& rank = ranks_[r];
    int status = 0;
    while (rank.running && ::waitpid(rank.process.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == rank.process.pid) {
      if (WIFSTOPPED(status))
        rank.stopped_by = WSTOPSIG(status);
      else if (WIFCONTINUED(status))
        rank.stopped_by = 0;
      else
        ended(r, status);
    }
  }
  void ended(size_t r, int status) {
    Rank& rank = ranks_[r];
    rank.running = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return store_.excuse(static_cast<int>(r));
    rank.out.copy_rest();
    rank.error.copy_rest();
    const std::string how = WIFSIGNALED(status) ? "was ended by " + name_of(WTERMSIG(status))
                                                : "exited with status " + std::to_string(WEXITSTATUS(status));
    const std::string& said = rank.error.last_words();
    fail("rank " + std::to_string(r) + " " + how + (said.empty() ? "" : ": " + said),
         WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), SIGTERM, options_.patience);
  }
  /// The first cause counts, and is published. After `wait` the ranks get the signal.
  void fail(std::string cause, int status, int signal, std::chrono::milliseconds wait) {
    if (!cause_.empty()) return;
    for (size_t r = 0; r < ranks_.size(); ++r)
      if (ranks_[r].running && ranks_[r].stopped_by != 0)
        cause += "; rank " + std::to_string(r) + " is stopped by " + name_of(ranks_[r].stopped_by);
    cause_ = cause;
    status_ = status;
    store_.set(distributed::kFailureKey, cause.substr(0, 4096));
    next_signal_ = signal;
    next_time_ = after(wait);
  }
  /// Nothing is published: ranks that heard of a failure would complain, and there is none.
  void interrupt(int signal) {
    if (!cause_.empty()) return end_ranks(SIGKILL);  // who asks twice is in a hurry
    cause_ = signal == SIGINT ? "interrupted" : std::string("ended by ") + name_of(signal);
    status_ = 128 + signal;
    interrupted_ = true;
    end_ranks(signal);
  }
  void end_ranks(int signal) {
    ::kill(-keeper_.group(), signal);
    if (signal != SIGKILL) ::kill(-keeper_.group(), SIGCONT);  // who is stopped would not hear it
    next_time_ = after(signal == SIGKILL ? std::chrono::hours(1) : options_.grace);
    next_signal_ = SIGKILL;
  }

  RankOptions options_;
  Signals signals_;
  Sink out_{STDOUT_FILENO}, error_{STDERR_FILENO};
  std::string token_;
  distributed::StoreServer store_;
  Keeper keeper_;
  std::vector<Rank> ranks_;
  std::string cause_;
  int status_ = 0;
  bool interrupted_ = false;
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

void run_own_ranks(const std::string& command, const std::string& job, int count, std::vector<std::string> arguments) {
  RankOptions options;
  options.name = "tandem " + command;
  arguments.insert(arguments.begin(), {"/proc/self/exe", command});
  std::fflush(nullptr);
  Job ranks(count, arguments, options);
  const int status = ranks.run();
  if (ranks.interrupted()) throw Interrupted(status - 128);
  TANDEM_CHECK(status == 0, command, ": a rank of ", job, " failed with exit status ", status);
}

}  // namespace tandem::tools
