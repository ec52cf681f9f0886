// Trials with faults other than a killed or stopped rank. Each trial checks the following.
//
//   - leave in order: ranks exit with status 0 at different times and in different ways, while others
//     go on. No rank fails.
//   - leave while needed: one rank exits during training. The others end within the bound, and their
//     errors say that it has left.
//   - bare backwards: one rank runs backward through the bare module between steps. This triggers no
//     communication, and the parameters of all ranks equal those of a job without them, bit for bit.
//   - launcher lost: a job has two launchers. One is killed, or stopped for longer than
//     --node-timeout. The other ends within the bound (plus that timeout) and names the lost node.
//   - link cut: the network is cut between the two launchers of a job, or between all ranks of a job
//     without launcher. Both sides end within the bound plus --node-timeout, or plus the group's
//     timeout, and name a rank or node of the other side.
//
// In all trials, no process that was started is left.
#pragma once
#include "tandem/tests/parallel/faults/trial.h"

namespace tandem::test {

struct MiscFaultTrial {
  enum class Kind { leave_group, leave_while_needed, bare_backwards, launcher_lost, link_cut };
  Kind kind = Kind::leave_group;
  bool launcher = false;
  int ranks = 2, victim = 0;                 // victim: the rank that leaves, or the node whose launcher is lost
  std::vector<std::string> exit_plans = {};  // by rank, how and when it leaves: "exit:120"
  bool pause_launcher = false;               // the launcher is stopped instead of killed
  std::chrono::milliseconds delay{0}, timeout{2000}, bound{1000};

  static MiscFaultTrial from_seed(uint64_t seed, int64_t number, std::chrono::milliseconds timeout,
                                  std::chrono::milliseconds bound);
  std::string name() const;  // for example "link cut, tandem launch"
  std::string str() const;
};
FaultResult run_misc_fault(const MiscFaultTrial& trial);

}  // namespace tandem::test
