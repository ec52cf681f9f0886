// BuildProgram: times a build of Tandem, from this commit or another. Each sample runs the build's command line in a
// new process.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/benchmarks/program.h"
#include "tandem/benchmarks/scratch_folder.h"

extern char** environ;

namespace tandem::benchmarks {
namespace {

struct ProcessResult {
  int exit_status;     // exit status of the process; 128 + signal number if a signal ended it; 127 if it did not start
  std::string output;  // standard output and standard error of the process
};
ProcessResult run_process(const std::vector<std::string>& arguments) {
  int ends[2];
  TANDEM_CHECK(pipe2(ends, O_CLOEXEC) == 0, "bench: cannot make a pipe: ", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ProcessResult result{127, failed ? std::strerror(failed) : ""};
  char bytes[4096];
  for (ssize_t n = 0; !failed && (n = ::read(ends[0], bytes, sizeof bytes)) != 0;) {
    if (n > 0) result.output.append(bytes, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  if (failed) return result;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace

BuildProgram::BuildProgram(std::string name, const std::string& build, double seconds, std::vector<std::string> options)
    : name_(std::move(name)), options_(std::move(options)) {
  constexpr int kParts = 5;
  for (const std::string& each : {std::string("--repeats"), std::to_string(kParts), std::string("--seconds"),
                                  std::to_string(std::max(seconds / kParts, 1e-6))})
    options_.push_back(each);
  std::error_code ignored;
  program_ = std::filesystem::is_directory(build, ignored) ? build + "/tools/tandem" : build;
  TANDEM_CHECK(std::filesystem::is_regular_file(program_, ignored), "bench: ", build,
               " is not a build of Tandem; accepted: a build folder with tools/tandem in it, or that program");
  const ProcessResult list = run_process({program_, "bench", "--list"});
  std::istringstream lines(list.output);
  for (std::string line; std::getline(lines, line);)
    if (list.exit_status == 0 && line.find('/') != std::string::npos) benchmarks_.insert(line);
  TANDEM_CHECK(!benchmarks_.empty(), "bench: ", program_, " is not a Tandem built with benchmarks: `bench --list` ",
               "ended with status ", list.exit_status, " and printed '", list.output.substr(0, list.output.find('\n')),
               "'");
}

std::optional<double> BuildProgram::prepare(const Case& c) {
  if (!benchmarks_.contains(c.benchmark->name)) return {};
  return measure_seconds_per_call(c, 0);
}
double BuildProgram::measure_seconds_per_call(const Case& c, int64_t) {
  const ScratchFolder folder("bench");
  const std::string file = folder.path() + "/sample.json";
  std::vector<std::string> arguments = {program_, "bench", "--case", c.key(), "--json", file};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  const ProcessResult result = run_process(arguments);
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in, /*cb=*/nullptr, /*allow_exceptions=*/false);
  try {
    TANDEM_CHECK(result.exit_status == 0, "the program ended with status ", result.exit_status);
    version_ = json.at("programs").at(0).at("version").get<std::string>();
    if (const std::string commit = json.at("build").at("commit"); !commit.empty()) version_ += " of commit " + commit;
    return json.at("benchmarks").at(0).at("results").at("tandem").at("median_ms").get<double>() * 1e-3;
  } catch (const std::exception& error) {
    TANDEM_FAIL("bench: ", program_, " did not time '", c.key(), "' (", error.what(), ") and printed '", result.output,
                "'");
  }
}

}  // namespace tandem::benchmarks
