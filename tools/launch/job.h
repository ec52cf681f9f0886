// Runs this launcher's ranks for one attempt at a job, from the start of the first rank to the end of the last one.
// Internal to ranks.cpp.
#pragma once
#include "tandem/tools/launch/nodes.h"
#include "tandem/tools/launch/output.h"
#include "tandem/tools/launch/process.h"
#include "tandem/tools/launch/ranks.h"

namespace tandem::tools {

/// State shared by all attempts at a job (the first one and its restarts).
struct LaunchContext {
  int num_ranks;  // number of ranks that this launcher starts
  std::vector<std::string> command;
  RankOptions options;
  std::optional<distributed::Deadline> timeout;  // deadline of the whole job
  Signals& signals;
  Nodes* nodes;  // null if the job has only one launcher
  Sinks& sinks;
};
struct JobResult {
  int status = 0;
  std::string cause = {};    // description of the first failure or of the signal that ended the job
  bool may_restart = false;  // whether a restart may help, because a rank failed
  bool interrupted = false;  // whether a signal to this launcher ended the job
};

class Job {
 public:
  Job(const LaunchContext& launch, Attempt& attempt, int restarts);
  JobResult run();

 private:
  struct Rank {
    RankProcess process;
    Output out, error;
    bool is_running = true;
    int stop_signal = 0;  // signal that stopped the process; 0 if it is not stopped
  };
  int first_rank() const { return launch_.nodes ? launch_.nodes->first_rank() : 0; }
  bool has_running_rank() const;
  bool is_hopeless() const;
  void poll_events();
  void handle_signals();
  void check_other_nodes();
  void reap(size_t r);
  void on_rank_ended(size_t r, int status, int64_t peak_kib);
  void fail(std::string cause, int status, bool may_restart, std::chrono::milliseconds wait);
  void interrupt(int signal);
  void end_ranks(int signal);

  const LaunchContext& launch_;
  Attempt& attempt_;
  const OomKillCounts oom_kills_before_ = OomKillCounts::now();
  ProcessGroupGuard process_group_;
  std::vector<Rank> ranks_;
  JobResult result_;
  // has_reported_done_: whether attempt_.report_success() was called. is_result_known_: whether the result of the
  // attempt is known.
  bool has_reported_done_ = false, is_result_known_ = false;
  std::optional<distributed::Deadline> timeout_, next_signal_time_;
  int next_signal_ = SIGTERM;
};

}  // namespace tandem::tools
