// Describes ranks, calls and groups for error messages, compares the calls of two ranks, and reduces tensors in rank
// order.
#include "tandem/parallel/collectives/process_group.h"

#include <numeric>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/combine.h"
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM: return "SUM";
    case ReduceOp::AVG: return "AVG";
    case ReduceOp::PRODUCT: return "PRODUCT";
    case ReduceOp::MIN: return "MIN";
    case ReduceOp::MAX: return "MAX";
  }
  return "?";
}

ProcessGroup::ProcessGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout, Device device,
                           std::vector<int> ranks, std::string name)
    : rank_(rank),
      size_(size),
      backend_(std::move(backend)),
      timeout_(timeout),
      device_(device),
      ranks_(std::move(ranks)),
      name_(std::move(name)) {
  if (!ranks_.empty()) return;
  ranks_.resize(static_cast<size_t>(size));
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

std::string GroupMembers::str() const {
  constexpr size_t kMaxListedRanks = 16;  // maximum number of ranks that an error lists
  std::ostringstream out;
  out << "group " << (name.empty() ? "" : name + " ") << "of ranks ";
  for (size_t r = 0; r < std::min(ranks.size(), kMaxListedRanks); ++r) out << (r > 0 ? ", " : "") << ranks[r];
  if (ranks.size() > kMaxListedRanks) out << ", ... (" << ranks.size() << ")";
  return out.str();
}
std::string describe_rank(int rank, const GroupMembersPtr& members) {
  const std::string text = "rank " + std::to_string(rank);
  return members ? text + " (global rank " + std::to_string(global_rank(rank, members)) + ")" : text;
}

std::string CollectiveCall::str() const {
  std::ostringstream out;
  out << name;
  if (sequence_number > 0) out << " #" << sequence_number;
  if (!about.empty()) out << " (" << about << ")";
  if (numel >= 0) {
    out << " of " << dtype;
    if (shape.size() > 1) out << " " << IntArrayRef(shape);
    out << ", " << numel << " elements";
  }
  if (is_reduction) out << ", " << to_string(op);
  if (root_or_peer >= 0) out << ", " << describe_rank(root_or_peer, group);
  if (device.is_cuda()) out << ", on " << device;
  if (group) out << ", in " << group->str();
  return out.str();
}
bool CollectiveCall::matches(const CollectiveCall& o) const {
  return std::string_view(name) == o.name && sequence_number == o.sequence_number && about == o.about &&
         dtype == o.dtype && numel == o.numel && device.type() == o.device.type() && root_or_peer == o.root_or_peer &&
         is_reduction == o.is_reduction && (!is_reduction || op == o.op);
}

std::string describe_mismatch(const CollectiveCall& from, int sender, const CollectiveCall& to, int receiver) {
  const auto sent = from.send_numel_to(receiver), expected = to.recv_numel_from(sender);
  if (sent == expected) return {};
  std::ostringstream out;
  out << "Detected mismatch between collectives on ranks: in " << from.str() << ", "
      << describe_rank(sender, from.group) << " sends " << describe_rank(receiver, from.group) << " " << sent
      << " elements, but " << describe_rank(receiver, from.group) << " receives " << expected << " from it";
  return out.str();
}

void reduce_in_order(const std::vector<Tensor>& parts, ReduceOp op, Tensor& y) {
  const double scale = op == ReduceOp::AVG ? 1.0 / static_cast<double>(parts.size()) : 1.0;
  const auto how = op == ReduceOp::MIN       ? kernels::CombineOp::min
                   : op == ReduceOp::MAX     ? kernels::CombineOp::max
                   : op == ReduceOp::PRODUCT ? kernels::CombineOp::product
                                             : kernels::CombineOp::sum;
  TANDEM_DISPATCH(y.device(), combine, parts, how, scale, y);
}
void divide_by_num_ranks(Tensor& sum, int ranks) {
  const std::vector<Tensor> parts = {sum};
  TANDEM_DISPATCH(sum.device(), combine, parts, kernels::CombineOp::sum, 1.0 / ranks, sum);
}

}  // namespace tandem::distributed
