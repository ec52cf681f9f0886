// RankGroups: the groups that a rank has joined. Internal.
#pragma once
#include "tandem/core/thread_context.h"
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

class FlightLog;

/// Groups of a rank, kept until destroy_process_group. A rank that throws therefore does not leave its groups, and the
/// other ranks can learn the reason of its failure.
struct RankGroups : detail::RankExtension {
  ProcessGroupPtr default_group;  // the default group
  std::vector<ProcessGroupPtr> subgroups;
  std::shared_ptr<FlightLog> flight_log;  // log of the calls of all groups of this rank

  void leave_all_groups() {
    // leaves the newest group first, so that all ranks leave the groups in the same order
    while (!subgroups.empty()) subgroups.pop_back();
    default_group.reset();
    flight_log.reset();
  }
  void on_process_exit() override { leave_all_groups(); }
};
inline RankGroups& rank_groups() { return detail::ThreadContext::current().rank_state().extension<RankGroups>(); }

}  // namespace tandem::distributed
