// Runs the programs that tests of `tandem launch` start, and checks the processes, output and ports they leave behind.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"
#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"

namespace tandem::test {

using distributed::Clock;
using distributed::Deadline;
using distributed::deadline_after;
using distributed::Descriptor;

struct ChildResult {
  int status = 0;  // exit status, or -signal if a signal ended the process
  std::string out, error;
};
/// A child process whose output is collected. When a child ends, its own children are adopted by this process, so
/// has_no_leftovers() can find them.
class Child {
 public:
  explicit Child(std::vector<std::string> command, const std::vector<std::string>& environment = {}) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int out[2], error[2];
    REQUIRE(::pipe(out) == 0);
    REQUIRE(::pipe(error) == 0);
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(error[1], STDERR_FILENO);
      for (const int fd : {out[0], out[1], error[0], error[1]}) ::close(fd);
      for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
      ::alarm(120);  // a child that hangs is ended by SIGALRM, and its test fails
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(error[1]);
    out_ = Descriptor(out[0]);
    error_ = Descriptor(error[0]);
  }
  /// Reads until `text` has appeared `times` times on standard output.
  void read_until(const std::string& text, int times) {
    while (count(result_.out, text) < times && read_some()) {}
    REQUIRE(count(result_.out, text) >= times);
  }
  /// Waits until the child's output pipe is full, so that its next write blocks.
  void wait_until_full() const {
    const int full = ::fcntl(out_.get(), F_GETPIPE_SZ) - PIPE_BUF;  // a write of up to PIPE_BUF bytes is never split
    int waiting = 0;
    for (const Deadline deadline = deadline_after(std::chrono::seconds(60));
         waiting <= full && Clock::now() < deadline;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ::ioctl(out_.get(), FIONREAD, &waiting);
    }
    REQUIRE(waiting > full);
  }
  /// Waits for the child to end without reading its output; kills it after `most`. Returns the time that took.
  std::chrono::milliseconds finish_without_reading(ChildResult& result, std::chrono::seconds most) {
    const auto start = Clock::now();
    int status = 0;
    pid_t ended = 0;
    for (const Deadline deadline = deadline_after(most); ended == 0 && Clock::now() < deadline;) {
      ended = ::waitpid(pid_, &status, WNOHANG);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (ended == 0) signal(SIGKILL);
    result.status = ended == 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// Reads until `text` has appeared on standard error.
  void read_error_until(const std::string& text) {
    while (count(result_.error, text) == 0 && read_some()) {}
    REQUIRE(count(result_.error, text) > 0);
  }
  ChildResult finish() {
    while (read_some()) {}
    int status = 0;
    ::waitpid(pid_, &status, 0);
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result_;
  }
  static int count(const std::string& all, const std::string& text) {
    int n = 0;
    for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++n;
    return n;
  }

 private:
  bool read_some() {
    pollfd fds[] = {{out_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
    if (::poll(fds, 2, 120000) <= 0) return false;
    char chunk[4096];
    for (auto [fd, text] : {std::pair(&out_, &result_.out), std::pair(&error_, &result_.error)}) {
      if (!*fd || !fds[fd == &error_].revents) continue;
      const ssize_t n = ::read(fd->get(), chunk, sizeof chunk);
      if (n > 0)
        text->append(chunk, static_cast<size_t>(n));
      else
        fd->close();
    }
    return out_ || error_;
  }
  pid_t pid_ = -1;
  Descriptor out_, error_;
  ChildResult result_;
};

inline std::vector<std::string> launch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kCommand, "launch"});
  return arguments;
}
inline std::vector<std::string> launch_shell(int count, const std::string& script) {
  return launch({"-n", std::to_string(count), "--", "sh", "-c", script});
}
inline std::vector<std::string> launch_program(int count, const std::string& what) {
  return launch({"-n", std::to_string(count), "--", kLaunchProgram, what});
}
/// Returns true once no descendant of this process is alive, or false if one still is after 20 seconds.
inline bool has_no_leftovers() {
  for (const Deadline deadline = deadline_after(std::chrono::seconds(20)); Clock::now() < deadline;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) return true;
    if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}
/// Returns a free port below the range of ephemeral ports, from which other processes may be given a port at any time.
inline int free_port() {
  static int port = 20000 + ::getpid() % 10000;
  for (++port;; ++port) try {  // a new port each time, because connections to the last one may linger
      const distributed::StoreServer free_now("", "127.0.0.1", port);
      return port;
    } catch (const Error&) {  // the port is taken
    }
}
inline bool skipped() {
  if (TANDEM_HAS_GLOO) return false;
  WARN("SKIPPED: built without Gloo");
  return true;
}

}  // namespace tandem::test
