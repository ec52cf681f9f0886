// Implements start_rank (fork and exec with a rank's environment and CPUs), ProcessGroupGuard (kills the processes of a
// job), and describe_likely_cause.
#include "tandem/tools/launch/process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tandem/core/threads/cpu_info.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

using distributed::Descriptor;

/// Returns the environment variables of this process together with those for the rank.
std::vector<std::string> make_environment(const RankEnvironment& rank_env) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t at = text.find('=');
    if (at != std::string::npos) all[text.substr(0, at)] = text.substr(at + 1);
  }
  for (const auto& [name, number] :
       {std::pair("RANK", rank_env.rank), std::pair("LOCAL_RANK", rank_env.local_rank),
        std::pair("WORLD_SIZE", rank_env.world_size), std::pair("LOCAL_WORLD_SIZE", rank_env.local_world_size),
        std::pair("GROUP_RANK", rank_env.node), std::pair("MASTER_PORT", rank_env.store_port),
        std::pair("TANDEM_RESTART_COUNT", rank_env.restarts)})
    all[name] = std::to_string(number);
  all["MASTER_ADDR"] = rank_env.store_address;
  all["TANDEM_STORE"] = "launcher";  // without this, rank 0 would host the store
  all["TANDEM_JOB_TOKEN"] = rank_env.token;
  if (!rank_env.flight.empty()) all["TANDEM_FLIGHT_DIR"] = rank_env.flight;
  const int share =
      rank_env.cpus.empty() ? num_usable_cores() / rank_env.local_world_size : static_cast<int>(rank_env.cpus.size());
  all.try_emplace("TANDEM_NUM_THREADS", std::to_string(std::max(1, share)));
  if (rank_env.threads > 0) all["TANDEM_NUM_THREADS"] = std::to_string(rank_env.threads);
  std::vector<std::string> out;
  out.reserve(all.size());
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}
std::vector<char*> to_c_strings(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Blocks all signals in this thread, and in a child that it forks while an instance exists. Otherwise a signal to the
/// child could run the launcher's signal handler there. It would write to the pipe that both processes share, and the
/// launcher would see a signal that it did not receive.
class BlockSignalsGuard {
 public:
  BlockSignalsGuard() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &old_mask_);
  }
  ~BlockSignalsGuard() { restore_mask(); }
  BlockSignalsGuard(const BlockSignalsGuard&) = delete;
  /// Restores the signal mask. The child calls this after resetting its signal handlers.
  void restore_mask() const { ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }

 private:
  sigset_t old_mask_;
};

/// Turns the forked child into the rank's program. Calls only async-signal-safe functions. If the program cannot be
/// run, writes errno to the descriptor `report`.
[[noreturn]] void exec_rank(const BlockSignalsGuard& signal_guard, char* const* argv, char* const* envp,
                            const cpu_set_t* cpus, pid_t parent, pid_t group, int out, int error, int report) {
  ::setpgid(0, group);
  if (cpus) ::sched_setaffinity(0, sizeof *cpus, cpus);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the launcher ended before the call of prctl()
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_DFL);
  signal_guard.restore_mask();
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

/// Returns the number that follows `word` in the first line of the file that begins with `word`.
std::optional<int64_t> read_number_after(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string first;
    int64_t number = 0;
    if (text >> first >> number && first == word) return number;
  }
  return {};
}
std::optional<int64_t> read_cgroup_oom_kills() {
  std::ifstream file("/proc/self/cgroup");
  // A line reads "0::/a/b" with cgroup v2, and "4:memory:/a/b" with v1.
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const std::string root = kind.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    if (!kind.empty() && kind != "memory") continue;
    // Inside a container, the container's cgroup is mounted as the root.
    for (const std::string& path : {root + group, root})
      if (auto kills = read_number_after(path + (kind.empty() ? "/memory.events" : "/memory.oom_control"), "oom_kill"))
        return kills;
  }
  return {};
}

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

ProcessGroupGuard::ProcessGroupGuard() {
  Pipe pipe = make_pipe();
  set_blocking(pipe.read_end.get());
  const BlockSignalsGuard signal_guard;
  pid_ = ::fork();
  TANDEM_CHECK(pid_ >= 0, "launch: cannot start a process: ", std::strerror(errno));
  if (pid_ == 0) {
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
    signal_guard.restore_mask();
    ::dup2(pipe.read_end.get(), 0);
    // Closes the launcher's end of the pipe and all other inherited descriptors, because another process may wait until
    // they are closed.
    if (::close_range(1, ~0U, 0) != 0)
      for (int fd = 1; fd < 1024; ++fd) ::close(fd);
    char byte = 0;
    while (::read(0, &byte, 1) < 0 && errno == EINTR) {}
    ::kill(0, SIGKILL);
    ::_exit(0);
  }
  ::setpgid(pid_, pid_);  // called by parent and child, because either of them may run first
  launcher_pipe_ = std::move(pipe.write_end);
}
void ProcessGroupGuard::end_group() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(-pid_, nullptr, 0) > 0) {}
  pid_ = -1;
}

RankProcess start_rank(const RankEnvironment& rank_env, const std::vector<std::string>& command, pid_t group) {
  const std::vector<std::string> environment = make_environment(rank_env);
  const std::vector<char*> argv = to_c_strings(command), envp = to_c_strings(environment);
  Pipe out = make_pipe(), error = make_pipe(), report = make_pipe();
  for (const Pipe* pipe : {&out, &error})
    set_blocking(pipe->write_end.get());  // the rank's program expects blocking output streams
  set_blocking(report.read_end.get());
  const pid_t parent = ::getpid();
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : rank_env.cpus) CPU_SET(cpu, &cpus);
  pid_t pid = 0;
  {
    const BlockSignalsGuard signal_guard;
    pid = ::fork();
    if (pid == 0)
      exec_rank(signal_guard, argv.data(), envp.data(), rank_env.cpus.empty() ? nullptr : &cpus, parent, group,
                out.write_end.get(), error.write_end.get(), report.write_end.get());
  }
  TANDEM_CHECK(pid >= 0, "launch: cannot start a process for rank ", rank_env.rank, ": ", std::strerror(errno));
  ::setpgid(pid, group);
  report.write_end.close();
  int why = 0;
  ssize_t n = 0;
  do n = ::read(report.read_end.get(), &why, sizeof why);
  while (n < 0 && errno == EINTR);
  if (n > 0) ::waitpid(pid, nullptr, 0);
  check_usage(n == 0, "cannot run '", command[0], "': ", std::strerror(why));
  return {pid, std::move(out.read_end), std::move(error.read_end)};
}

std::vector<int> cpu_share(int part, int parts) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  ::sched_getaffinity(0, sizeof mine, &mine);
  std::vector<int> all, out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine)) all.push_back(cpu);
  const auto n = static_cast<int>(all.size());
  for (int i = n * part / parts; i < std::max(n * (part + 1) / parts, n * part / parts + 1) && i < n; ++i)
    out.push_back(all[static_cast<size_t>(i)]);
  return out;
}

OomKillCounts OomKillCounts::now() { return {read_cgroup_oom_kills(), read_number_after("/proc/vmstat", "oom_kill")}; }

std::string signal_name(int signal) { return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"; }

std::string describe_likely_cause(int signal, const OomKillCounts& before, const OomKillCounts& now, int64_t peak_kib) {
  if (signal != SIGKILL) return "";
  const auto grew = [](const std::optional<int64_t>& a, const std::optional<int64_t>& b) { return a && b && *b > *a; };
  const std::string had = " (peak memory: " + std::to_string(peak_kib / 1024) + " MiB)";
  if (grew(before.in_cgroup, now.in_cgroup))
    return "; its cgroup ran out of memory, and the kernel killed a process" + had;
  if (grew(before.on_machine, now.on_machine))
    return "; this machine ran out of memory, and the kernel killed a process" + had;
  if (now.in_cgroup || now.on_machine)
    return "; the kernel reports no out-of-memory kill: another process sent the signal" + had;
  return "; perhaps out of memory" + had;
}

}  // namespace tandem::tools
