#include "tandem/tests/differential/replay.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "tandem/kernels/lapack.h"

namespace tandem::differential {
namespace {

// Weight of element i in the sums that record_corpus.py stores. Exchanging two elements changes the sums.
double weight(int projection, int64_t i) {
  const double x = (i + 1) * (projection == 0 ? 0.6180339887498949 : 0.7548776662466927);
  const double positive = 0.5 + (x - std::floor(x));
  return projection == 1 && i % 2 == 1 ? -positive : positive;
}

/// Compares values with the recorded sums: {"p": [two sums], "b": tolerance, "odd": "3nan5inf"}. "odd" lists elements
/// that are not finite; it is missing if all are finite. Returns the difference, or "" if there is none.
std::string value_difference(const Json& expected, const Json& values) {
  if (expected.is_null()) return "";  // random values are not compared
  double sums[2] = {0, 0};
  std::string odd;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_string())
      odd += std::to_string(i) + values[i].get<std::string>();
    else
      for (int k = 0; k < 2; ++k) sums[k] += weight(k, static_cast<int64_t>(i)) * values[i].get<double>();
  }
  if (odd != expected.value("odd", "")) return "not finite at " + odd + ", expected at " + expected.value("odd", "");
  for (int k = 0; k < 2; ++k)
    if (!(std::abs(sums[k] - expected["p"][k].get<double>()) <= expected["b"].get<double>()))
      return "values " + values.dump() + " give " + Json(sums[k]).dump() + ", not " + expected["p"][k].dump() + " +- " +
             expected["b"].dump();
  return "";
}

/// Compares a tensor with the recorded one. `expected` has the form of Machine::run's result, with these changes:
/// strides of a contiguous tensor are null, the names of storage and tensor are missing if they are the tensor's own,
/// and sums replace the values. Returns the difference, or "" if there is none.
std::string tensor_difference(const std::string& name, const Json& expected, const Json& tensor) {
  if (expected.is_null() || tensor.is_null()) return expected == tensor ? "" : "one is undefined";
  if (!tensor.is_array()) return "cannot be read: " + tensor.dump();
  static const char* const fields[] = {"dtype", "sizes", "strides", "flags", "shares storage with", "is the same as"};
  for (size_t i = 0; i < std::size(fields); ++i) {
    const Json wanted = i >= 4 && expected.size() == 5 ? Json(name) : expected[i];
    if (!tensor[i].is_null() && wanted != tensor[i])
      return std::string(fields[i]) + " " + tensor[i].dump() + ", not " + wanted.dump();
  }
  return value_difference(expected.back(), tensor[6]);
}

/// Returns the name of the first tensor that differs, and the difference. Returns empty strings if none differs.
std::pair<std::string, std::string> tensors_difference(const Json& expected, const Json& tensors) {
  for (const auto& [name, tensor] : expected.items()) {
    if (!tensors.contains(name)) return {name, "does not exist"};
    if (const std::string where = tensor_difference(name, tensor, tensors[name]); !where.empty()) return {name, where};
  }
  for (const auto& [name, tensor] : tensors.items())
    if (!expected.contains(name)) return {name, "exists, but should not"};
  return {};
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

#ifdef __aarch64__
constexpr bool kArm64 = true;
#else
constexpr bool kArm64 = false;
#endif

/// Reads the IDs of a file with lines "id reason". A line counts only on GPUs if its reason begins with "cuda:", only
/// with sanitizers if with "sanitized:", and only on that CPU if with "arm64:".
std::set<std::string> read_left_out(const std::string& path, Device device) {
  std::set<std::string> ids;
  std::ifstream file(path);
  TANDEM_CHECK(path.empty() || file, "cannot open ", path);
  const auto is = [](const std::string& line, const char* kind) { return line.find(kind) != std::string::npos; };
  for (std::string line; std::getline(file, line);)
    if (line[0] != '#' && (device.is_cuda() || !is(line, " cuda:")) &&
        (TANDEM_TEST_SANITIZED || !is(line, " sanitized:")) && (kArm64 || !is(line, " arm64:")))
      ids.insert(line.substr(0, line.find(' ')));
  return ids;
}

struct Progress {
  size_t program;  // index of the running program
  int failed;
  int agree;  // number of left-out programs that agree
};
struct Corpus {
  std::vector<std::string> lines;
  std::set<std::string> left_out;
};

/// Returns whether a program needs LAPACK, which a build may lack.
bool calls_lapack(const Json& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Json& step) {
    if (step.is_null()) return false;
    const std::string op = step[0].get<std::string>();
    return op.find("linalg_") != std::string::npos || op.find("logdet") != std::string::npos ||
           op.find("cholesky") != std::string::npos;
  });
}
void replay_program(const Corpus& corpus, const ReplayOptions& options, Progress& progress) {
  const Json entry = Json::parse(corpus.lines[progress.program]);
  // On a GPU, kernels report errors later or not at all, so programs that expect errors are skipped.
  if (!options.device.is_cpu() && !entry["expect"]["errors"].empty()) return;
  const std::string id = entry["id"];
  const bool left_out = corpus.left_out.contains(id);
  if (left_out && !options.device.is_cpu()) return;
  if (!kernels::cpu::has_lapack() && calls_lapack(entry["steps"])) return;
  const Json result = Machine(options.device, options.planted).run(entry["steps"]);
  const std::string where = difference(entry["steps"], entry["expect"], result);
  if (where.empty() != left_out) return;
  if (left_out) {
    ++progress.agree;
    std::printf("left out, but agrees: %s\n", id.c_str());
  } else {
    ++progress.failed;
    report(id, entry["steps"], where);
  }
}

}  // namespace

std::string difference(const Json& steps, const Json& expected, const Json& result) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Json& error = result["errors"][i];
    const auto& refused = expected["errors"];
    if (error.is_null() != (std::find(refused.begin(), refused.end(), i) == refused.end()))
      return steps[i][0].get<std::string>() + " (step " + std::to_string(i) + ") " +
             (error.is_null() ? "does not throw" : "throws: " + error.get<std::string>());
  }
  const auto op_of = [&](const std::string& name) { return steps[std::stoul(name)][0].get<std::string>(); };
  for (const auto& [what, name] : {std::pair("result of ", "values"), std::pair("gradient of the result of ", "grads")})
    if (const auto [at, where] = tensors_difference(expected[name], result[name]); !where.empty())
      return what + op_of(at) + " (t" + at + "): " + where;
  return hooks_difference(expected["hooks"], result["hooks"]);
}

int replay(const ReplayOptions& options) {
  std::ifstream file(options.corpus);
  TANDEM_CHECK(file, "cannot open ", options.corpus);
  Corpus corpus{{}, read_left_out(options.left_out, options.device)};
  for (std::string line; std::getline(file, line);) corpus.lines.push_back(line);
  const size_t count = corpus.lines.size();

  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TANDEM_CHECK(shared != MAP_FAILED, "cannot map memory for the replaying process");
  Progress& progress = *new (shared) Progress{0, 0, 0};
  for (; progress.program < count; progress.program += options.every) {
    std::fflush(stdout);
    const pid_t child = fork();
    TANDEM_CHECK(child >= 0, "cannot start the replaying process");
    if (child == 0) {
      for (; progress.program < count; progress.program += options.every) {
        alarm(60);  // ends a program that hangs
        replay_program(corpus, options, progress);
      }
      std::fflush(stdout);
      _exit(0);  // no leak check: with create_graph, a leaf and its gradient form a reference cycle
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (progress.program >= count && status == 0) break;
    ++progress.failed;
    const std::string ended = "ends the process (status " + std::to_string(status) + ")";
    if (progress.program >= count) {
      std::printf("the replay %s after the last program\n", ended.c_str());
      break;
    }
    const Json entry = Json::parse(corpus.lines[progress.program]);
    if (!corpus.left_out.contains(entry["id"]))
      report(entry["id"], entry["steps"], ended);
    else
      --progress.failed;
  }
  std::printf("%zu programs on %s, %d differ from the record; %d left-out programs agree\n",
              (count + options.every - 1) / options.every, options.device.str().c_str(), progress.failed,
              progress.agree);
  return progress.failed + (options.strict ? progress.agree : 0);
}

}  // namespace tandem::differential
