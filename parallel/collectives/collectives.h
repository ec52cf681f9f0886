// torch.distributed's collectives and point-to-point calls, over the default group or the one that is given.
#pragma once
#include <optional>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

// These functions use the default group unless a group is given. All ranks of the group call them, in one order. src
// and dst are ranks of the default group, as in torch.distributed; methods of ProcessGroup take ranks of the group.
// With async_op the work is returned while it runs; otherwise it is complete.

/// x becomes the reduction over all ranks' x.
WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// x becomes the x of rank src.
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, bool async_op = false,
                  const About& about = {});
/// On rank dst, x becomes the reduction; elsewhere x stays as it was.
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
               bool async_op = false, const About& about = {});
/// outputs[r] becomes the input of rank r; one output for each rank. Sizes may differ from rank to rank if all ranks
/// say the same ones.
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// output becomes all ranks' inputs, concatenated along the first dimension or stacked along a new one.
WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                               bool async_op = false, const About& about = {});
/// output becomes the reduction over all ranks' inputs[this rank]; one input for each rank.
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                       const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// output becomes the reduction over all ranks' parts of input for this rank; input is laid out as the output of
/// all_gather_into_tensor.
WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                              const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, outputs[r] becomes the input of rank r; elsewhere there are no outputs.
WorkPtr gather(const Tensor& input, const std::vector<Tensor>& outputs = {}, int dst = 0,
               const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, gather_tensor becomes all ranks' tensors, laid out as the output of all_gather_into_tensor. On the
/// other ranks gather_tensor is not used and may be undefined.
WorkPtr gather_into_tensor(const Tensor& tensor, const Tensor& gather_tensor = {}, int dst = 0,
                           const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// output becomes the inputs[this rank] of rank src; elsewhere there are no inputs.
WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs = {}, int src = 0,
                const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// outputs[r] becomes the inputs[this rank] of rank r; sizes may differ from pair to pair.
WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                   const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// Sends rows of one tensor: input_split_sizes[r] rows go to rank r, in order, and output_split_sizes[r] rows come from
/// rank r. Without sizes each rank has an equal part.
WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<int64_t>& output_split_sizes = {},
                          const std::vector<int64_t>& input_split_sizes = {}, const ProcessGroupPtr& group = nullptr,
                          bool async_op = false, const About& about = {});

/// Starts several calls as one; NCCL launches them together. The work completes when all calls are complete.
WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOp op = ReduceOp::SUM,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
WorkPtr all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroupPtr& group = nullptr, bool async_op = false,
                                         const About& about = {});
WorkPtr reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                                        bool async_op = false, const About& about = {});

/// Broadcasts bytes of any length: `bytes` becomes the bytes of rank src.
void broadcast_bytes(std::string& bytes, int src, const ProcessGroupPtr& group = nullptr);
/// By rank in the group, the bytes that each gave; lengths may differ.
std::vector<std::string> all_gather_bytes(const std::string& bytes, const ProcessGroupPtr& group = nullptr);

/// Sends x to rank dst, whose recv() with the same tag takes it; returns when it is done.
void send(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
/// x becomes what rank src sends with the same tag, or whichever rank sends first where none is named; returns who did,
/// when x is there.
int recv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr, int tag = 0,
         const About& about = {});
/// As send() and recv(), under way.
WorkPtr isend(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
WorkPtr irecv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr,
              int tag = 0, const About& about = {});
/// Returns when every rank has come.
void barrier(const ProcessGroupPtr& group = nullptr, const About& about = {});
/// A barrier that says who did not come to it within the timeout (0: most of the group's): the first of them, or all.
/// The group has failed then. Ranks report to rank 0 of the group, so that it costs more than a barrier.
void monitored_barrier(const ProcessGroupPtr& group = nullptr, std::chrono::milliseconds timeout = kNoTimeout,
                       bool wait_all_ranks = false);

}  // namespace tandem::distributed
