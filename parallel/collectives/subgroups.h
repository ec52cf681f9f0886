// Groups of some of the ranks: new_group and split_group. Also converts ranks between a group and the default group.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// Makes a group of the given ranks of the default group, sorted; an empty list means all ranks. Every rank of the
/// default group must call it with the same arguments, in the same order as its other calls of new_group. On a rank
/// outside the group, rank() is -1.
/// @throws DistributedError if the ranks' arguments differ
ProcessGroupPtr new_group(std::vector<int> ranks = {}, const GroupOptions& options = {});
/// Splits a group: ranks with equal colors form a group, ordered by key, then by rank. Every rank of the parent must
/// call it. A rank with a negative color is in no group; for such a rank, rank() is -1.
ProcessGroupPtr split_group(int color, int key = 0, const ProcessGroupPtr& parent = nullptr,
                            const GroupOptions& options = {});
/// Returns the members' ranks in the default group, by rank in `group`. get_group_rank() converts one rank of the
/// default group to a rank of the group; get_global_rank() does the inverse. @throws Error for a rank that does not
/// exist
std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group);
int get_group_rank(const ProcessGroupPtr& group, int global_rank);
int get_global_rank(const ProcessGroupPtr& group, int group_rank);

}  // namespace tandem::distributed
