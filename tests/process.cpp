#include "tandem/tests/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tandem/core/error.h"

namespace tandem::test {
namespace {

/// Runs a program and collects its output.
/// @param on_output  called with the process and everything it has printed so far
Result run(const std::string& program, const std::vector<std::string>& arguments, const std::function<void()>& prepare,
           const std::function<void(pid_t, const std::string&)>& on_output) {
  int ends[2];
  TANDEM_CHECK(::pipe(ends) == 0, "run_program: no pipe");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  TANDEM_CHECK(child >= 0, "run_program: no process");
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    if (prepare) prepare();
    ::alarm(120);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Result result;
  char chunk[4096];
  for (ssize_t n; (n = ::read(ends[0], chunk, sizeof chunk)) > 0;) {
    result.output.append(chunk, static_cast<size_t>(n));
    on_output(child, result.output);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace

Result run_program(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void()>& prepare) {
  return run(program, arguments, prepare, [](pid_t, const std::string&) {});
}
Result interrupt_program(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& until) {
  bool sent = false;
  return run(
      program, arguments, [] { ::signal(SIGINT, SIG_DFL); },
      [&](pid_t child, const std::string& output) {
        if (sent || output.find(until) == std::string::npos) return;
        ::kill(child, SIGINT);
        sent = true;
      });
}

}  // namespace tandem::test
