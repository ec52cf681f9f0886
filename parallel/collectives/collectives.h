// torch.distributed's collectives and point-to-point calls, over the default group or a given group.
#pragma once
#include <optional>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

// These functions use the default group unless a group is given. All ranks of the group must call them in the same
// order. src and dst are ranks of the default group, as in torch.distributed; methods of ProcessGroup take ranks of the
// group. If async_op is true, the returned work may still be in progress; otherwise it is complete.

/// Replaces x by the reduction over all ranks' x.
WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// Replaces x by the x of rank src.
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group = nullptr, bool async_op = false,
                  const About& about = {});
/// On rank dst, replaces x by the reduction; on the other ranks x keeps its value.
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
               bool async_op = false, const About& about = {});
/// Writes the input of rank r to outputs[r]; one output per rank. Inputs may differ in size if all ranks pass the
/// same list of output sizes.
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                   bool async_op = false, const About& about = {});
/// Writes the inputs of all ranks to output, concatenated along the first dimension or, if output has one more
/// dimension, stacked along a new first dimension.
WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const ProcessGroupPtr& group = nullptr,
                               bool async_op = false, const About& about = {});
/// Writes the reduction over all ranks of inputs[R] to output, where R is this rank. There is one input per rank.
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                       const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// Splits input into one part per rank, and writes to output the reduction over all ranks of the part for this rank.
/// input has the layout of the output of all_gather_into_tensor.
WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                              const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, writes the input of rank r to outputs[r]. On the other ranks `outputs` must be empty.
WorkPtr gather(const Tensor& input, const std::vector<Tensor>& outputs = {}, int dst = 0,
               const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank dst, writes all ranks' tensors to gather_tensor, in the layout of the output of all_gather_into_tensor. On
/// the other ranks gather_tensor is not used and may be undefined.
WorkPtr gather_into_tensor(const Tensor& tensor, const Tensor& gather_tensor = {}, int dst = 0,
                           const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// On rank src, sends inputs[r] to each rank r, which receives it into output. On the other ranks `inputs` must be
/// empty.
WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs = {}, int src = 0,
                const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// Sends inputs[r] to each rank r, and receives from it into outputs[r]. Sizes may differ between pairs of ranks.
WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                   const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
/// Exchanges rows of one tensor: the first input_split_sizes[0] rows go to rank 0, the next input_split_sizes[1] rows
/// to rank 1, and so on; output_split_sizes[r] rows come from rank r. If a list of sizes is empty, the rows are split
/// evenly.
WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<int64_t>& output_split_sizes = {},
                          const std::vector<int64_t>& input_split_sizes = {}, const ProcessGroupPtr& group = nullptr,
                          bool async_op = false, const About& about = {});

/// Starts one collective for each tensor or pair of tensors, coalesced: NCCL launches them together. The returned work
/// completes when all of them have.
WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOp op = ReduceOp::SUM,
                             const ProcessGroupPtr& group = nullptr, bool async_op = false, const About& about = {});
WorkPtr all_gather_into_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                         const ProcessGroupPtr& group = nullptr, bool async_op = false,
                                         const About& about = {});
WorkPtr reduce_scatter_tensor_coalesced(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                        ReduceOp op = ReduceOp::SUM, const ProcessGroupPtr& group = nullptr,
                                        bool async_op = false, const About& about = {});

/// Broadcasts a string of bytes: sets `bytes` to the bytes of rank src. Lengths may differ between ranks.
void broadcast_bytes(std::string& bytes, int src, const ProcessGroupPtr& group = nullptr);
/// Returns the bytes that each rank passed, by rank in the group. Lengths may differ.
std::vector<std::string> all_gather_bytes(const std::string& bytes, const ProcessGroupPtr& group = nullptr);

/// Sends x to rank dst, which must call recv() with the same tag. Returns when the send is complete.
void send(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
/// Receives into x the tensor that rank src sends with the same tag; if src is nullopt, the first tensor that any rank
/// sends. Returns the rank of the sender once x has arrived.
int recv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr, int tag = 0,
         const About& about = {});
/// Asynchronous forms of send() and recv(). They return the work in progress.
WorkPtr isend(const Tensor& x, int dst, const ProcessGroupPtr& group = nullptr, int tag = 0, const About& about = {});
WorkPtr irecv(const Tensor& x, std::optional<int> src = std::nullopt, const ProcessGroupPtr& group = nullptr,
              int tag = 0, const About& about = {});
/// Returns when every rank of the group has called barrier().
void barrier(const ProcessGroupPtr& group = nullptr, const About& about = {});
/// A barrier whose error names a rank that did not call it within the timeout: the first such rank or, if
/// wait_all_ranks is true, all of them. The timeout is at most 90 % of the group's; 0 means these 90 %. After this
/// error the group has failed. Every rank sends a message to rank 0 of the group, so this costs more than barrier().
void monitored_barrier(const ProcessGroupPtr& group = nullptr, std::chrono::milliseconds timeout = kNoTimeout,
                       bool wait_all_ranks = false);

}  // namespace tandem::distributed
