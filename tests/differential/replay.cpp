#include "tandem/tests/differential/replay.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>

namespace tandem::differential {
namespace {

// The projections that record_corpus.py makes: sums with weights that no exchange of elements keeps.
double weight(int projection, int64_t i) {
  const double x = (i + 1) * (projection == 0 ? 0.6180339887498949 : 0.7548776662466927);
  const double positive = 0.5 + (x - std::floor(x));
  return projection == 1 && i % 2 == 1 ? -positive : positive;
}

/// Values against their projections: {"p": [two sums], "b": bound, "odd": "3nan5inf", left out when all are finite}.
std::string value_difference(const Json& expected, const Json& values) {
  double sums[2] = {0, 0};
  std::string odd;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_string()) odd += std::to_string(i) + values[i].get<std::string>();
    else
      for (int k = 0; k < 2; ++k) sums[k] += weight(k, static_cast<int64_t>(i)) * values[i].get<double>();
  }
  if (odd != expected.value("odd", "")) return "not finite at " + odd + ", and not at " + expected.value("odd", "");
  for (int k = 0; k < 2; ++k)
    if (!(std::abs(sums[k] - expected["p"][k].get<double>()) <= expected["b"].get<double>()))
      return "values " + values.dump() + " give " + Json(sums[k]).dump() + ", not " + expected["p"][k].dump() + " +- " +
             expected["b"].dump();
  return "";
}

std::string tensor_difference(const Json& expected, const Json& tensor) {
  if (expected.is_null() || tensor.is_null()) return expected == tensor ? "" : "one is undefined";
  if (!tensor.is_array()) return "cannot be read: " + tensor.dump();
  static const char* const fields[] = {"dtype", "sizes", "strides", "flags", "shares storage with", "is the same as"};
  for (size_t i = 0; i < std::size(fields); ++i)
    if (expected[i] != tensor[i]) return std::string(fields[i]) + " " + tensor[i].dump() + ", not " + expected[i].dump();
  return expected[6].is_null() ? "" : value_difference(expected[6], tensor[6]);
}

std::string tensors_difference(const std::string& what, const Json& expected, const Json& tensors) {
  for (const auto& [name, tensor] : expected.items()) {
    if (!tensors.contains(name)) return what + " t" + name + " does not exist";
    if (const std::string where = tensor_difference(tensor, tensors[name]); !where.empty())
      return what + " t" + name + ": " + where;
  }
  for (const auto& [name, tensor] : tensors.items())
    if (!expected.contains(name)) return what + " t" + name + " exists, and should not";
  return "";
}

std::string hooks_difference(const Json& expected, const Json& hooks) {
  for (const auto& [name, calls] : expected.items()) {
    const Json& got = hooks.value(name, Json::array());
    if (calls.size() != got.size())
      return "hook " + name + " ran " + std::to_string(got.size()) + " times, not " + std::to_string(calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls[i][0] != got[i][0] || calls[i][1] != got[i][1]) return "hook " + name + " saw " + got[i].dump();
      if (const std::string where = value_difference(calls[i][2], got[i][2]); !where.empty())
        return "hook " + name + ": " + where;
    }
  }
  return "";
}

void report(const std::string& id, const Json& steps, const std::string& where) {
  std::printf("program %s: %s\n%s\n", id.c_str(), where.c_str(), cpp_text(steps).c_str());
  std::fflush(stdout);
}

struct Progress {
  size_t program;  // the one that runs
  int failed;
};

/// Replays programs from `progress.program` on; in a process of its own, which a program may end.
void replay_from(const std::vector<std::string>& lines, const ReplayOptions& options, Progress& progress) {
  for (; progress.program < lines.size(); progress.program += options.every) {
    alarm(60);  // a program that hangs
    const Json entry = Json::parse(lines[progress.program]);
    const Json result = Machine(options.device, options.planted).run(entry["steps"]);
    if (const std::string where = difference(entry["expect"], result); !where.empty()) {
      ++progress.failed;
      report(entry["id"], entry["steps"], where);
    }
  }
}

}  // namespace

std::string difference(const Json& expected, const Json& result) {
  std::vector<size_t> failed;
  for (size_t i = 0; i < result["errors"].size(); ++i)
    if (!result["errors"][i].is_null()) failed.push_back(i);
  if (Json(failed) != expected["errors"])
    return "the steps that throw are " + Json(failed).dump() + " (" + result["errors"].dump() + "), not " +
           expected["errors"].dump();
  if (auto where = tensors_difference("value", expected["values"], result["values"]); !where.empty()) return where;
  if (auto where = tensors_difference("gradient of", expected["grads"], result["grads"]); !where.empty()) return where;
  return hooks_difference(expected["hooks"], result["hooks"]);
}

int replay(const ReplayOptions& options) {
  std::ifstream file(options.corpus);
  TANDEM_CHECK(file, "cannot open ", options.corpus);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);

  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TANDEM_CHECK(shared != MAP_FAILED, "cannot map memory for the replaying process");
  Progress& progress = *new (shared) Progress{0, 0};
  while (progress.program < lines.size()) {
    const pid_t child = fork();
    if (child == 0) {
      replay_from(lines, options, progress);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0) break;
    ++progress.failed;
    if (progress.program >= lines.size()) {
      std::printf("the replay ended with status %d after its last program\n", status);
      break;
    }
    const Json entry = Json::parse(lines[progress.program]);
    report(entry["id"], entry["steps"], "ends the process (status " + std::to_string(status) + ")");
    progress.program += options.every;
  }
  std::printf("%zu programs, %d of them differ\n", (lines.size() + options.every - 1) / options.every, progress.failed);
  return progress.failed;
}

}  // namespace tandem::differential
