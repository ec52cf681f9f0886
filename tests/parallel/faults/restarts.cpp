#include "tandem/tests/parallel/faults/restarts.h"

#include <thread>

#include "tandem/tests/parallel/faults/processes.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/temporary.h"

namespace tandem::test {
namespace {

constexpr auto kLongest = std::chrono::minutes(3);  // time limit of a job with all its restarts, on a busy machine
constexpr int kSteps = 400;

/// A job that trains to the end, unless its ranks are killed.
struct RestartJob {
  RestartJob(int ranks, int max_restarts, bool trainer) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans are adopted by this process
    launcher = start(
        {kCommand, "launch", "-n", std::to_string(ranks), "--max-restarts", std::to_string(max_restarts), "--threads",
         "1", "--", kFaultsProgram, folder.path(), "60000", std::to_string(kSteps), trainer ? "trainer" : "resumes"},
        {}, folder / "out", folder / "error");
  }
  ~RestartJob() {
    if (!has_ended()) ::kill(launcher, SIGKILL);
    end_children(milliseconds(1000));
  }
  bool has_ended() {
    int status = 0;
    if (!ended && ::waitpid(launcher, &status, WNOHANG) == launcher) {
      ended = true;
      exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return ended;
  }
  bool wait_for_end(Deadline deadline) {
    while (!has_ended() && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(2));
    return ended;
  }
  std::string end() const { return contents(folder / "end.pt"); }
  TemporaryFolder folder;
  pid_t launcher = -1;
  bool ended = false;
  int exit_status = 0;
};
/// Returns the final parameters of a job of `ranks` ranks without faults.
const std::string& expected_end(int ranks, bool trainer) {
  static std::map<std::pair<int, bool>, std::string> ends;
  std::string& end = ends[{ranks, trainer}];
  if (end.empty()) {
    RestartJob job(ranks, 0, trainer);
    job.wait_for_end(deadline_after(kLongest));
    TANDEM_CHECK(job.ended && job.exit_status == 0,
                 "faults: a job without faults fails: ", contents(job.folder / "error"));
    end = job.end();
  }
  return end;
}
int count_of(const std::string& text, const std::string& words) {
  int n = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

}  // namespace

RestartTrial RestartTrial::from_seed(uint64_t seed, int64_t number, int max_restarts, bool trainer) {
  TrialDraws draws(seed, number);
  RestartTrial t{.trainer = trainer};
  t.ranks = 2 + draws.below(3);
  const int kills = 1 + draws.below(max_restarts);
  for (int i = 0; i < kills; ++i) t.kills.emplace_back(draws.below(t.ranks), milliseconds(draws.below(900)));
  return t;
}
std::string RestartTrial::str() const {
  std::string text = std::to_string(ranks) + " ranks";
  for (const auto& [victim, delay] : kills)
    text += ", rank " + std::to_string(victim) + " after " + std::to_string(delay.count()) + " ms";
  return text;
}

RestartResult run_restarts(const RestartTrial& t, int max_restarts) {
  RestartResult result;
  const auto wrong = [&](const std::string& what) { result.violations.push_back(what); };
  const std::string& expected = expected_end(t.ranks, t.trainer);
  RestartJob job(t.ranks, max_restarts, t.trainer);
  const Deadline deadline = deadline_after(kLongest);
  for (const auto& [victim, delay] : t.kills) {
    std::map<int, pid_t> ranks;
    while (!job.has_ended() && static_cast<int>(ranks.size()) < t.ranks && Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(1));
      ranks = child_rank_pids(job.launcher, result.kills);
    }
    if (static_cast<int>(ranks.size()) < t.ranks) break;
    // The Trainer's jobs with an even number of kills are struck in training, the others also while their ranks start.
    const bool in_training = t.trainer && t.kills.size() % 2 == 0;
    while (in_training && !job.has_ended() && Clock::now() < deadline &&
           count_of(contents(job.folder / "out"), "begins after step ") < t.ranks * (result.kills + 1))
      std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(in_training ? 3 * delay : delay);
    if (read_process_variable(ranks[victim], "RANK") != std::to_string(victim)) break;  // the rank has already ended
    ::kill(ranks[victim], SIGKILL);
    ++result.kills;
  }
  if (!job.wait_for_end(deadline)) return wrong("the job does not end"), result;
  const std::string output = contents(job.folder / "error"), out = contents(job.folder / "out");
  if (job.exit_status != 0) wrong("tandem launch ends with status " + std::to_string(job.exit_status) + ": " + output);
  if (job.end() != expected) wrong("the parameters are not those of a job without faults");
  result.restarts = count_of(output, "restarting all ranks");
  // The last rank may have been killed after its last step, when the job needed no restart any more.
  if (result.restarts > result.kills || result.restarts + 1 < result.kills)
    wrong(std::to_string(result.kills) + " kills, " + std::to_string(result.restarts) + " restarts: " + output);
  for (int i = 0; i < result.restarts; ++i) {
    const std::string name = "rank " + std::to_string(t.kills[static_cast<size_t>(i)].first) + " was ended by signal 9";
    if (output.find("tandem launch: " + name) == std::string::npos)
      wrong("tandem launch does not name " + name + ": " + output);
  }
  result.resumed = count_of(out, "[0] begins after step ") - count_of(out, "[0] begins after step 0\n");
  if (const int left = end_children(std::chrono::seconds(20))) wrong(std::to_string(left) + " processes are left");
  return result;
}

}  // namespace tandem::test
