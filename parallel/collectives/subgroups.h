// Groups of some of the ranks: new_group, split_group, and conversion between ranks of a group and of the default
// group.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// Makes a group of these ranks of the default group, sorted, or of all ranks if `ranks` is empty. Every rank must call
/// it with the same arguments and in the same order among such calls. On a rank outside the group, rank() is -1.
/// @throws DistributedError if the ranks' arguments differ
ProcessGroupPtr new_group(std::vector<int> ranks = {}, const GroupOptions& options = {});
/// Makes groups of all ranks with equal colors, ordered by key, then by rank. Every rank of the parent must call it. A
/// rank with a negative color is in no group: its rank() is -1.
ProcessGroupPtr split_group(int color, int key = 0, const ProcessGroupPtr& parent = nullptr,
                            const GroupOptions& options = {});
/// Returns the ranks of the default group, by rank in the group. get_group_rank() and get_global_rank() convert one
/// rank.
/// @throws Error for a rank that does not exist
std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group);
int get_group_rank(const ProcessGroupPtr& group, int global_rank);
int get_global_rank(const ProcessGroupPtr& group, int group_rank);

}  // namespace tandem::distributed
