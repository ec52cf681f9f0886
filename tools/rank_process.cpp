#include "tandem/tools/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tandem/core/cpu_info.h"

namespace tandem::tools {
namespace {

using distributed::Descriptor;

/// This process's environment with what a rank needs to know.
std::vector<std::string> environment_of(int rank, int count, int store_port, const std::string& token) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t at = text.find('=');
    if (at != std::string::npos) all[text.substr(0, at)] = text.substr(at + 1);
  }
  for (const char* name : {"RANK", "LOCAL_RANK"}) all[name] = std::to_string(rank);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) all[name] = std::to_string(count);
  all["MASTER_ADDR"] = "127.0.0.1";
  all["MASTER_PORT"] = std::to_string(store_port);
  all["TANDEM_STORE"] = "launcher";  // or else rank 0 would host it
  all["TANDEM_JOB_TOKEN"] = token;
  all.try_emplace("TANDEM_NUM_THREADS", std::to_string(std::max(1, usable_cores() / count)));
  std::vector<std::string> out;
  out.reserve(all.size());
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// No signal reaches this thread, nor a child that is forked meanwhile: there the launcher's handler would tell the
/// launcher, by the pipe that both have, that it was interrupted once more.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { end(); }
  NoSignals(const NoSignals&) = delete;
  /// Also in the child, once it has handlers of its own.
  void end() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// In the child, where only what a signal handler may call is allowed. Reports errno when the program cannot be run.
[[noreturn]] void become(const NoSignals& none_yet, char* const* argv, char* const* envp, pid_t parent, pid_t group,
                         int out, int error, int report) {
  ::setpgid(0, group);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE}) ::signal(signal, SIG_DFL);
  none_yet.end();
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(error, STDERR_FILENO);
  ::execvpe(argv[0], argv, envp);
  const int why = errno;
  (void)!::write(report, &why, sizeof why);
  ::_exit(127);
}
void set_blocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

}  // namespace

Pipe make_pipe() {
  int ends[2];
  TANDEM_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "launch: cannot make a pipe: ", std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string random_token() {
  unsigned char bytes[16];
  TANDEM_CHECK(::getrandom(bytes, sizeof bytes, 0) == sizeof bytes,
               "launch: cannot get random bytes from the system: ", std::strerror(errno));
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

Keeper::Keeper() {
  Pipe pipe = make_pipe();
  set_blocking(pipe.read.get());
  const NoSignals none_yet;
  pid_ = ::fork();
  TANDEM_CHECK(pid_ >= 0, "launch: cannot start a process: ", std::strerror(errno));
  if (pid_ == 0) {
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
    none_yet.end();
    ::dup2(pipe.read.get(), 0);
    // The launcher's end of the pipe, and whatever others wait to see closed.
    if (::close_range(1, ~0U, 0) != 0)
      for (int fd = 1; fd < 1024; ++fd) ::close(fd);
    char byte = 0;
    while (::read(0, &byte, 1) < 0 && errno == EINTR) {}
    ::kill(0, SIGKILL);
    ::_exit(0);
  }
  ::setpgid(pid_, pid_);  // whoever comes first
  alive_ = std::move(pipe.write);
}
void Keeper::end_group() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(-pid_, nullptr, 0) > 0) {}
  pid_ = -1;
}

RankProcess start_rank(int rank, int count, const std::vector<std::string>& command, int store_port,
                       const std::string& token, pid_t group) {
  const std::vector<std::string> environment = environment_of(rank, count, store_port, token);
  const std::vector<char*> argv = pointers(command), envp = pointers(environment);
  Pipe out = make_pipe(), error = make_pipe(), report = make_pipe();
  for (const Pipe* pipe : {&out, &error}) set_blocking(pipe->write.get());  // the program's end
  set_blocking(report.read.get());
  const pid_t parent = ::getpid();
  pid_t pid = 0;
  {
    const NoSignals none_yet;
    pid = ::fork();
    if (pid == 0)
      become(none_yet, argv.data(), envp.data(), parent, group, out.write.get(), error.write.get(), report.write.get());
  }
  TANDEM_CHECK(pid >= 0, "launch: cannot start a process for rank ", rank, ": ", std::strerror(errno));
  ::setpgid(pid, group);
  report.write.close();
  int why = 0;
  ssize_t n = 0;
  do n = ::read(report.read.get(), &why, sizeof why);
  while (n < 0 && errno == EINTR);
  if (n > 0) ::waitpid(pid, nullptr, 0);
  TANDEM_CHECK(n == 0, "launch: cannot run '", command[0], "': ", std::strerror(why));
  return {pid, std::move(out.read), std::move(error.read)};
}

}  // namespace tandem::tools
