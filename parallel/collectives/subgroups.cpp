// Implements new_group and split_group: groups whose ranks are given by a list or by colors.
#include "tandem/parallel/collectives/subgroups.h"

#include <algorithm>

#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/rank_groups.h"

namespace tandem::distributed {
namespace {

/// Makes a subgroup and returns when all of its members have joined.
ProcessGroupPtr make_subgroup_and_wait(ProcessGroup& parent, const std::vector<int>& ranks,
                                       const GroupOptions& options) {
  ProcessGroupPtr group = parent.make_subgroup(ranks, options);
  rank_groups().subgroups.push_back(group);
  if (group->rank() >= 0) group->barrier()->wait();
  return group;
}

}  // namespace

ProcessGroupPtr new_group(std::vector<int> ranks, const GroupOptions& options) {
  const ProcessGroupPtr parent = default_group();
  if (ranks.empty()) ranks = parent->ranks();
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < ranks.size(); ++i) {
    TANDEM_CHECK(ranks[i] >= 0 && ranks[i] < parent->size(), "new_group: Rank ", ranks[i],
                 " is out of range. Valid ranks are 0 to ", parent->size() - 1, " (world_size=", parent->size(), ")");
    TANDEM_CHECK(i == 0 || ranks[i] != ranks[i - 1], "new_group: ranks list must not contain duplicate entries, got a ",
                 GroupMembers{"", ranks}.str());
  }
  parent->barrier("new_group, a " + GroupMembers{options.name, ranks}.str())->wait();
  return make_subgroup_and_wait(*parent, ranks, options);
}

ProcessGroupPtr split_group(int color, int key, const ProcessGroupPtr& parent_or_none, const GroupOptions& options) {
  const ProcessGroupPtr parent = parent_or_none ? parent_or_none : default_group();
  const Tensor mine = tensor({int64_t{color}, int64_t{key}}, kInt64).to(parent->device());
  const Tensor all = empty({parent->size(), 2}, TensorOptions(kInt64).device(parent->device()));
  parent->all_gather_into_tensor(all, mine.view({1, 2}), "split_group")->wait();
  const Tensor here = all.to(kCPU);
  const int64_t* const values = here.data_ptr<int64_t>();
  std::vector<std::pair<int64_t, int>> chosen;
  for (int r = 0; r < parent->size(); ++r)
    if (color >= 0 && values[2 * r] == color) chosen.emplace_back(values[2 * r + 1], r);
  std::sort(chosen.begin(), chosen.end());
  std::vector<int> ranks(chosen.size());
  std::transform(chosen.begin(), chosen.end(), ranks.begin(), [](const auto& each) { return each.second; });
  return make_subgroup_and_wait(*parent, ranks, options);
}

std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group) {
  return (group ? group : default_group())->ranks();
}
int get_group_rank(const ProcessGroupPtr& group, int global_rank) {
  const std::vector<int> ranks = get_process_group_ranks(group);
  const auto at = std::find(ranks.begin(), ranks.end(), global_rank);
  TANDEM_CHECK(at != ranks.end(), "get_group_rank: Global rank ", global_rank, " is not part of ",
               GroupMembers{group ? group->name() : "", ranks}.str(), "; accepted: one of these ranks");
  return static_cast<int>(at - ranks.begin());
}
int get_global_rank(const ProcessGroupPtr& group, int group_rank) {
  const std::vector<int> ranks = get_process_group_ranks(group);
  TANDEM_CHECK(group_rank >= 0 && group_rank < static_cast<int>(ranks.size()), "get_global_rank: Group rank ",
               group_rank, " is not part of ", GroupMembers{group ? group->name() : "", ranks}.str(),
               "; accepted: 0 to ", static_cast<int>(ranks.size()) - 1);
  return ranks[static_cast<size_t>(group_rank)];
}

}  // namespace tandem::distributed
