// The groups that a rank has joined. Internal.
#pragma once
#include "tandem/core/rank_context.h"
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

class FlightLog;

/// Kept until destroy_process_group: a rank that throws has left none of them by then, and the others hear why it
/// failed.
struct RankGroups : detail::RankPart {
  ProcessGroupPtr group;  // the default one
  std::vector<ProcessGroupPtr> subgroups;
  std::shared_ptr<FlightLog> flight;  // of all these

  void leave_all() {
    while (!subgroups.empty()) subgroups.pop_back();  // the last first, on all ranks alike
    group.reset();
    flight.reset();
  }
  void end_of_process() override { leave_all(); }
};
inline RankGroups& rank_groups() { return detail::RankContext::current().state().part<RankGroups>(); }

}  // namespace tandem::distributed
