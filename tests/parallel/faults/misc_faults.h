// Faults other than a rank that is killed or stopped; what must hold for each:
//
//   - leave in order: ranks end with status 0 at different times, each in a way of its own, while
//     others go on: nobody fails
//   - leave while needed: one rank does so in training: the others end within the bound, and say
//     that it has left
//   - bare backwards: one rank runs backwards through the bare module between steps: they meet
//     nobody, and the parameters of all ranks are those of a job without them, bit for bit
//   - launcher lost: of two launchers of a job one is killed, or stopped for longer than
//     --node-timeout: the other ends within the bound (and that time), and names its node
//   - link cut: between two launchers of a job, or between all ranks, which nobody started in
//     common: both sides end within the bound and --node-timeout, or the group's timeout, and name
//     somebody of the other side
//
// Nothing that was started is left in any case.
#pragma once
#include "tandem/tests/parallel/faults/trial.h"

namespace tandem::test {

struct MiscFaultTrial {
  enum class Kind { leave_group, leave_while_needed, bare_backwards, launcher_lost, link_cut };
  Kind kind = Kind::leave_group;
  bool launcher = false;
  int ranks = 2, victim = 0;                 // victim: who leaves; of launchers, a node
  std::vector<std::string> exit_plans = {};  // by rank, how and when it leaves: "exit:120"
  bool pause_launcher = false;               // the launcher is stopped, not killed
  std::chrono::milliseconds delay{0}, timeout{2000}, bound{1000};

  static MiscFaultTrial from_seed(uint64_t seed, int64_t number, std::chrono::milliseconds timeout,
                                  std::chrono::milliseconds bound);
  std::string name() const;  // "link cut, tandem launch"
  std::string str() const;
};
FaultResult run_misc_fault(const MiscFaultTrial& trial);

}  // namespace tandem::test
