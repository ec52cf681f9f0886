// Groups of some of the ranks, by naming them or by color; the mesh that is made of such groups.
#include <algorithm>
#include <numeric>

#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/device_mesh.h"
#include "tandem/parallel/collectives/rank_groups.h"

namespace tandem::distributed {
namespace {

/// Returns when all of its ranks have come.
ProcessGroupPtr made(ProcessGroup& parent, const std::vector<int>& ranks, const GroupOptions& options) {
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
  for (size_t i = 0; i < ranks.size(); ++i)
    TANDEM_CHECK(ranks[i] >= 0 && ranks[i] < parent->size() && (i == 0 || ranks[i] != ranks[i - 1]), "new_group: rank ",
                 ranks[i], " of ", parent->size(), ranks[i] >= 0 && ranks[i] < parent->size() ? " is named twice" : "",
                 "; accepted: 0 to ", parent->size() - 1, ", each once");
  parent->barrier("new_group, a " + Members{options.name, ranks}.str())->wait();
  return made(*parent, ranks, options);
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
  return made(*parent, ranks, options);
}

std::vector<int> get_process_group_ranks(const ProcessGroupPtr& group) {
  return (group ? group : default_group())->ranks();
}
int get_group_rank(const ProcessGroupPtr& group, int global_rank) {
  const std::vector<int> ranks = get_process_group_ranks(group);
  const auto at = std::find(ranks.begin(), ranks.end(), global_rank);
  TANDEM_CHECK(at != ranks.end(), "get_group_rank: rank ", global_rank, " is not in the ",
               Members{group ? group->name() : "", ranks}.str(), "; accepted: one of these");
  return static_cast<int>(at - ranks.begin());
}
int get_global_rank(const ProcessGroupPtr& group, int group_rank) {
  const std::vector<int> ranks = get_process_group_ranks(group);
  TANDEM_CHECK(group_rank >= 0 && group_rank < static_cast<int>(ranks.size()), "get_global_rank: rank ", group_rank,
               " of a group of ", ranks.size(), "; accepted: 0 to ", static_cast<int>(ranks.size()) - 1);
  return ranks[static_cast<size_t>(group_rank)];
}

DeviceMesh init_device_mesh(const std::vector<int64_t>& mesh_shape, const std::vector<std::string>& mesh_dim_names) {
  return {mesh_shape, mesh_dim_names};
}
DeviceMesh::DeviceMesh(std::vector<int64_t> shape, std::vector<std::string> dim_names)
    : shape_(std::move(shape)), names_(std::move(dim_names)) {
  const ProcessGroupPtr all = default_group();
  const int64_t ranks = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  TANDEM_CHECK(!shape_.empty() && ranks == all->size(), "init_device_mesh: the mesh ", IntArrayRef(shape_), " has ",
               ranks, " places for ", all->size(), " ranks; accepted: as many");
  TANDEM_CHECK(names_.empty() || names_.size() == shape_.size(), "init_device_mesh: there are ", names_.size(),
               " names for ", shape_.size(), " dimensions; accepted: none, or one for each");
  // Row-major: the last coordinate differs between neighbours.
  coordinate_.resize(shape_.size());
  for (int64_t rest = all->rank(), d = ndim() - 1; d >= 0; --d) {
    coordinate_[static_cast<size_t>(d)] = rest % shape_[static_cast<size_t>(d)];
    rest /= shape_[static_cast<size_t>(d)];
  }
  int64_t stride = ranks;
  for (size_t d = 0; d < shape_.size(); ++d) {
    stride /= shape_[d];
    const int64_t here = coordinate_[d], first = all->rank() - here * stride;  // the rank with a 0 in its place
    groups_.push_back(split_group(static_cast<int>(first), static_cast<int>(here), all,
                                  {.name = names_.empty() ? "dim " + std::to_string(d) : names_[d]}));
  }
}
int64_t DeviceMesh::size(std::optional<int64_t> dim) const {
  if (dim) return shape_[index(*dim)];
  return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
}
size_t DeviceMesh::index(int64_t dim) const {
  TANDEM_CHECK(dim >= -ndim() && dim < ndim(), "DeviceMesh: dimension ", dim, " of ", ndim(), "; accepted: ", -ndim(),
               " to ", ndim() - 1);
  return static_cast<size_t>(dim < 0 ? dim + ndim() : dim);
}
int64_t DeviceMesh::dim(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  std::string known;
  for (const std::string& each : names_) known += (known.empty() ? "" : ", ") + each;
  TANDEM_CHECK(at != names_.end(), "DeviceMesh: there is no dimension '", name,
               "'; accepted: ", known.empty() ? "numbers, as they have no names" : known);
  return at - names_.begin();
}

}  // namespace tandem::distributed
