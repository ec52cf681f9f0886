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
  if (expected.is_null()) return "";  // drawn at random
  double sums[2] = {0, 0};
  std::string odd;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_string())
      odd += std::to_string(i) + values[i].get<std::string>();
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
    if (expected[i] != tensor[i])
      return std::string(fields[i]) + " " + tensor[i].dump() + ", not " + expected[i].dump();
  return value_difference(expected[6], tensor[6]);
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

/// The ids of a file whose lines are "id reason"; and whether a program is wanted to differ, which no mend will change.
std::map<std::string, bool> read_left_out(const std::string& path) {
  std::map<std::string, bool> ids;
  std::ifstream file(path);
  TANDEM_CHECK(path.empty() || file, "cannot open ", path);
  for (std::string line; std::getline(file, line);)
    if (const size_t space = line.find(' '); line[0] != '#' && space != std::string::npos)
      ids[line.substr(0, space)] = line.compare(space + 1, 7, "wanted:") == 0;
  return ids;
}

struct Progress {
  size_t program;  // the one that runs
  int failed;
};
struct Corpus {
  std::vector<std::string> lines;
  std::map<std::string, bool> left_out;
};

void replay_program(const Corpus& corpus, const ReplayOptions& options, Progress& progress) {
  const Json entry = Json::parse(corpus.lines[progress.program]);
  const auto left_out = corpus.left_out.find(entry["id"]);
  if (left_out != corpus.left_out.end() && left_out->second) return;
  const Json result = Machine(options.device, options.planted).run(entry["steps"]);
  const std::string where = difference(entry["expect"], result);
  if (left_out == corpus.left_out.end() ? where.empty() : !where.empty()) return;
  ++progress.failed;
  if (!where.empty())
    report(entry["id"], entry["steps"], where);
  else
    std::printf("program %s agrees now: take it off the list of those left out\n", left_out->first.c_str());
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
  Corpus corpus{{}, read_left_out(options.left_out)};
  for (std::string line; std::getline(file, line);) corpus.lines.push_back(line);
  const size_t count = corpus.lines.size();

  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TANDEM_CHECK(shared != MAP_FAILED, "cannot map memory for the replaying process");
  Progress& progress = *new (shared) Progress{0, 0};
  for (; progress.program < count; progress.program += options.every) {
    std::fflush(stdout);
    const pid_t child = fork();
    TANDEM_CHECK(child >= 0, "cannot start the replaying process");
    if (child == 0) {
      for (; progress.program < count; progress.program += options.every) {
        alarm(60);  // a program that hangs
        replay_program(corpus, options, progress);
      }
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (progress.program >= count && status == 0) break;
    ++progress.failed;
    const std::string ended = "ends the process (status " + std::to_string(status) + ")";
    if (progress.program >= count) {
      std::printf("the replay %s after its last program\n", ended.c_str());
      break;
    }
    const Json entry = Json::parse(corpus.lines[progress.program]);
    if (!corpus.left_out.contains(entry["id"]))
      report(entry["id"], entry["steps"], ended);
    else
      --progress.failed;
  }
  std::printf("%zu programs on %s, %d of them not as recorded\n", (count + options.every - 1) / options.every,
              options.device.str().c_str(), progress.failed);
  return progress.failed;
}

}  // namespace tandem::differential
