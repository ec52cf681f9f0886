// Implements the collectives of torch.distributed by one or a few calls of ProcessGroup's methods each.
#include "tandem/parallel/collectives/collectives.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {
namespace {

ProcessGroupPtr group_or_default(const ProcessGroupPtr& group) { return group ? group : default_group(); }
/// Converts a rank of the default group to a rank of `group`. If `group` is null, returns global_rank unchecked,
/// because the methods of ProcessGroup check it.
int to_group_rank(const char* name, const ProcessGroupPtr& group, int global_rank) {
  if (!group) return global_rank;
  const std::vector<int>& ranks = group->ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), global_rank);
  TANDEM_CHECK(at != ranks.end(), name, ": Global rank ", global_rank, " is not part of ",
               GroupMembers{group->name(), ranks}.str(), "; accepted: one of these ranks");
  return static_cast<int>(at - ranks.begin());
}
WorkPtr wait_unless_async(WorkPtr work, bool async_op) {
  if (!async_op) work->wait();
  return work;
}
/// Calls f(i) for i from 0 to count - 1, where each call starts one collective, and coalesces these collectives.
template <class F>
WorkPtr run_coalesced(const char* name, ProcessGroup& group, size_t count, bool async_op, const F& f) {
  TANDEM_CHECK(count > 0, name, ": requires non-empty tensor list");
  WorkPtr last;
  {
    const CoalescingGuard together(group);
    for (size_t i = 0; i < count; ++i) last = f(i);
  }
  return wait_unless_async(last,
                           async_op);  // collectives complete or fail in order, so waiting for the last one is enough
}
void check_equal_list_lengths(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  TANDEM_CHECK(outputs.size() == inputs.size(), name,
               ": requires input/output tensor lists to have the same length, but got ", outputs.size(),
               " outputs and ", inputs.size(), " inputs");
}

Tensor bytes_to_tensor(const std::string& bytes, Device device) {
  const Tensor here = empty({static_cast<int64_t>(bytes.size())}, kUInt8);
  if (!bytes.empty()) std::memcpy(here.data_ptr<uint8_t>(), bytes.data(), bytes.size());
  return here.to(device);
}
std::string tensor_to_bytes(const Tensor& x) {
  const Tensor here = x.to(kCPU);
  return x.numel() == 0
             ? std::string()
             : std::string(reinterpret_cast<const char*>(here.data_ptr<uint8_t>()), static_cast<size_t>(x.numel()));
}
TensorOptions tensor_options_for(const ProcessGroup& group, DType dtype) {
  return TensorOptions(dtype).device(group.device());
}

/// Waits until the operation has completed or failed, or until the deadline. Returns false at the deadline.
bool wait_until_completed(const Work& work, Deadline deadline) {
  while (!work.is_completed()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace

WorkPtr all_reduce(const Tensor& x, ReduceOp op, const ProcessGroupPtr& group, bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->all_reduce(x, op, about), async_op);
}
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group, bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->broadcast(x, to_group_rank("broadcast", group, src), about),
                           async_op);
}
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op, const ProcessGroupPtr& group, bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->reduce(x, to_group_rank("reduce", group, dst), op, about),
                           async_op);
}
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group, bool async_op,
                   const About& about) {
  return wait_unless_async(group_or_default(group)->all_gather(outputs, input, about), async_op);
}
WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const ProcessGroupPtr& group, bool async_op,
                               const About& about) {
  return wait_unless_async(group_or_default(group)->all_gather_into_tensor(output, input, about), async_op);
}
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                       const ProcessGroupPtr& group, bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->reduce_scatter(output, inputs, op, about), async_op);
}
WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op, const ProcessGroupPtr& group,
                              bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->reduce_scatter_tensor(output, input, op, about), async_op);
}
WorkPtr gather(const Tensor& input, const std::vector<Tensor>& outputs, int dst, const ProcessGroupPtr& group,
               bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->gather(outputs, input, to_group_rank("gather", group, dst), about),
                           async_op);
}
WorkPtr gather_into_tensor(const Tensor& tensor, const Tensor& gather_tensor, int dst, const ProcessGroupPtr& group,
                           bool async_op, const About& about) {
  const ProcessGroupPtr g = group_or_default(group);
  return wait_unless_async(
      g->gather_into_tensor(gather_tensor, tensor, to_group_rank("gather_into_tensor", group, dst), about), async_op);
}
WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src, const ProcessGroupPtr& group,
                bool async_op, const About& about) {
  return wait_unless_async(
      group_or_default(group)->scatter(output, inputs, to_group_rank("scatter", group, src), about), async_op);
}
WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const ProcessGroupPtr& group,
                   bool async_op, const About& about) {
  return wait_unless_async(group_or_default(group)->all_to_all(outputs, inputs, about), async_op);
}
WorkPtr all_to_all_single(const Tensor& output, const Tensor& input, const std::vector<int64_t>& output_split_sizes,
                          const std::vector<int64_t>& input_split_sizes, const ProcessGroupPtr& group, bool async_op,
                          const About& about) {
  return wait_unless_async(
      group_or_default(group)->all_to_all_single(output, input, output_split_sizes, input_split_sizes, about),
      async_op);
}

WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOp op, const ProcessGroupPtr& group,
                             bool async_op, const About& about) {
  const ProcessGroupPtr g = group_or_default(group);
  return run_coalesced("all_reduce_coalesced", *g, tensors.size(), async_op,
                       [&](size_t i) { return g->all_reduce(tensors[i], op, about); });
}
WorkPtr all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroupPtr& group, bool async_op, const About& about) {
  constexpr char kName[] = "all_gather_into_tensor_coalesced";
  check_equal_list_lengths(kName, outputs, inputs);
  const ProcessGroupPtr g = group_or_default(group);
  return run_coalesced(kName, *g, inputs.size(), async_op,
                       [&](size_t i) { return g->all_gather_into_tensor(outputs[i], inputs[i], about); });
}
WorkPtr reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOp op, const ProcessGroupPtr& group, bool async_op, const About& about) {
  constexpr char kName[] = "reduce_scatter_tensor_coalesced";
  check_equal_list_lengths(kName, outputs, inputs);
  const ProcessGroupPtr g = group_or_default(group);
  return run_coalesced(kName, *g, inputs.size(), async_op,
                       [&](size_t i) { return g->reduce_scatter_tensor(outputs[i], inputs[i], op, about); });
}

void broadcast_bytes(std::string& bytes, int src, const ProcessGroupPtr& group) {
  const ProcessGroupPtr g = group_or_default(group);
  const int root = to_group_rank("broadcast_bytes", group, src);
  const Tensor size = full({1}, static_cast<double>(bytes.size()), tensor_options_for(*g, kInt64));
  g->broadcast(size, root, "the size of bytes")->wait();
  const Tensor values = g->rank() == root ? bytes_to_tensor(bytes, g->device())
                                          : empty({size.item<int64_t>()}, tensor_options_for(*g, kUInt8));
  g->broadcast(values, root, "bytes")->wait();
  if (g->rank() != root) bytes = tensor_to_bytes(values);
}
std::vector<std::string> all_gather_bytes(const std::string& bytes, const ProcessGroupPtr& group) {
  const ProcessGroupPtr g = group_or_default(group);
  const Tensor sizes = empty({g->size()}, tensor_options_for(*g, kInt64));
  g->all_gather_into_tensor(sizes, full({1}, static_cast<double>(bytes.size()), tensor_options_for(*g, kInt64)),
                            "the sizes of bytes")
      ->wait();
  const Tensor counts = sizes.to(kCPU);
  std::vector<Tensor> outputs;
  outputs.reserve(static_cast<size_t>(g->size()));
  for (int r = 0; r < g->size(); ++r)
    outputs.push_back(empty({counts.data_ptr<int64_t>()[r]}, tensor_options_for(*g, kUInt8)));
  g->all_gather(outputs, bytes_to_tensor(bytes, g->device()), "bytes")->wait();
  std::vector<std::string> all(outputs.size());
  std::transform(outputs.begin(), outputs.end(), all.begin(), tensor_to_bytes);
  return all;
}

WorkPtr isend(const Tensor& x, int dst, const ProcessGroupPtr& group, int tag, const About& about) {
  return group_or_default(group)->send(x, to_group_rank("send", group, dst), tag, about);
}
WorkPtr irecv(const Tensor& x, std::optional<int> src, const ProcessGroupPtr& group, int tag, const About& about) {
  const ProcessGroupPtr g = group_or_default(group);
  return src ? g->recv(x, to_group_rank("recv", group, *src), tag, about) : g->recv_anysource(x, tag, about);
}
void send(const Tensor& x, int dst, const ProcessGroupPtr& group, int tag, const About& about) {
  isend(x, dst, group, tag, about)->wait();
}
int recv(const Tensor& x, std::optional<int> src, const ProcessGroupPtr& group, int tag, const About& about) {
  const WorkPtr work = irecv(x, src, group, tag, about);
  work->wait();
  if (src) return *src;
  return get_global_rank(group_or_default(group), work->source_rank());
}
void barrier(const ProcessGroupPtr& group, const About& about) { group_or_default(group)->barrier(about)->wait(); }

void monitored_barrier(const ProcessGroupPtr& group, std::chrono::milliseconds timeout, bool wait_all_ranks) {
  constexpr int kTag = std::numeric_limits<int>::min();
  constexpr std::chrono::seconds kGrace(10);  // extra time in which rank 0's answer must reach the other ranks
  const ProcessGroupPtr g = group_or_default(group);
  // `max_timeout` is shorter than the group's timeout, because sends and receives fail at that timeout with errors that
  // do not name the barrier.
  const auto max_timeout = g->timeout() * 9 / 10;
  const auto limit = timeout == kNoTimeout ? max_timeout : std::min<std::chrono::milliseconds>(timeout, max_timeout);
  const Deadline deadline = deadline_after(limit);
  const Tensor token = zeros({1}, tensor_options_for(*g, kUInt8));
  std::vector<WorkPtr> works;
  const auto finish = [&](Deadline end) {
    for (const WorkPtr& work : works) {
      TANDEM_CHECK_AS(
          DistributedError, wait_until_completed(*work, end), "monitored_barrier: Rank ", g->rank(),
          " successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0: no "
          "answer within ",
          limit.count(), " ms");
      work->wait();
    }
  };
  if (g->rank() != 0) {
    works = {g->send(token, 0, kTag), g->recv(zeros({1}, tensor_options_for(*g, kUInt8)), 0, kTag)};
    return finish(deadline + kGrace);
  }
  std::vector<WorkPtr> reports(static_cast<size_t>(g->size()));
  for (int r = 1; r < g->size(); ++r)
    reports[static_cast<size_t>(r)] = g->recv(zeros({1}, tensor_options_for(*g, kUInt8)), r, kTag);
  std::string missing;
  for (int r = 1; r < g->size() && (missing.empty() || wait_all_ranks); ++r) {
    const WorkPtr& report = reports[static_cast<size_t>(r)];
    if (wait_until_completed(*report, deadline)) {
      report->wait();
      continue;
    }
    missing += missing.empty() ? "rank " : ", rank ";
    missing += std::to_string(r);
    if (group) missing += " (global rank " + std::to_string(get_global_rank(g, r)) + ")";
  }
  if (!missing.empty()) {
    const std::string why = "monitored_barrier: " + missing + " failed to pass monitoredBarrier in " +
                            std::to_string(limit.count()) + " ms";
    g->abort(why);
    throw DistributedError(why);
  }
  for (int r = 1; r < g->size(); ++r) works.push_back(g->send(token, r, kTag));
  finish(deadline + kGrace);
}

}  // namespace tandem::distributed
