// Groups of some of the ranks: new_group, split_group, and ranks of a group as ranks of the default group.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// Makes a group of these ranks of the default group, sorted, or of all ranks if none are named. Every rank calls it
/// with the same arguments and in the same order among such calls. On a rank outside the group, rank() is -1.
/// @throws DistributedError when the ranks say different things
ProcessGroupPtr new_group(std::vector<int> ranks = {}, const GroupOptions& options = {});
/// A group of all ranks that give the same color, in the order of their keys, then of their ranks. Every rank of the
/// parent calls it; one with a negative color is in no group: there rank() is -1.
ProcessGroupPtr split_group(int color, int key = 0, const ProcessGroupPtr& parent = nullptr,
                            const GroupOptions& options = {});
/// By rank in the group, the ranks of the default group; from one count to the other.
/// @throws Error for a rank that there is not
std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group);
int get_group_rank(const ProcessGroupPtr& group, int global_rank);
int get_global_rank(const ProcessGroupPtr& group, int group_rank);

}  // namespace tandem::distributed
