// Process groups: ranks that act together. A rank is a process (gloo, nccl) or a thread of one process (local, nccl).
#pragma once
#include <exception>

#include "tandem/core/durations.h"
#include "tandem/core/tensor.h"

namespace tandem::distributed {

/// How the ranks' tensors become one: AVG is SUM times 1 / size, of floating dtypes.
enum class ReduceOp { SUM, AVG, PRODUCT, MIN, MAX };
/// "SUM", "AVG", "PRODUCT", "MIN" or "MAX".
const char* to_string(ReduceOp op);

/// What a call is for, and where it is in the program: made of a text, or of nothing.
struct About {
  /// file and line are those of the call of which this is an argument.
  About(std::string text = {}, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(std::move(text)), file(file), line(line) {}
  About(const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : About(std::string(text), file, line) {}
  /// What for; "" where that was not said.
  std::string text;
  /// The source, and the line there.
  const char* file;
  /// Counted from 1.
  int line;
};

/// An error of the group itself: a rank that is gone, late, or does something else than the others. A group stays
/// failed with its first one.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// How long a collective waits for other ranks unless told otherwise: five minutes.
constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);
/// Of Work::wait(): as long as the group waits for others.
constexpr std::chrono::milliseconds kNoTimeout{0};

/// A collective under way. The tensors it was given must not be touched before it is complete.
class Work {
 public:
  virtual ~Work() = default;
  /// Done or failed. Of CUDA tensors: on the GPU too.
  virtual bool is_completed() const = 0;
  /// What it failed with; null while it is under way, and when it went well.
  virtual std::exception_ptr exception() const = 0;
  /// Of a receive that was waited for: the rank of the group that sent; -1 of everything else.
  virtual int source_rank() const = 0;
  /// How long the operation itself took, without waiting for its turn; once it is complete.
  virtual double seconds() const = 0;
  /// Makes what follows come after the operation, within the group's timeout. Of CPU tensors it returns when the
  /// operation is complete. Of CUDA tensors it returns when the operation is on the GPU's queue: the calling thread's
  /// current stream is put behind it, and the host may run ahead. Returns true, as PyTorch's.
  /// @throws what it has failed with by then; DistributedError when it is not done within `timeout`: then it goes on,
  /// the group has not failed, and a later wait() may succeed
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout) = 0;
  /// Returns when the operation is complete, on the GPU too. @throws what it failed with
  virtual void synchronize() = 0;
};
using WorkPtr = std::shared_ptr<Work>;

class ProcessGroup;
using ProcessGroupPtr = std::shared_ptr<ProcessGroup>;

/// Of a group that is made of another one's ranks.
struct GroupOptions {
  /// What errors call it: "in group tp of ranks 0, 2".
  std::string name = {};
  /// 0: that of the group it is made from.
  std::chrono::milliseconds timeout = kNoTimeout;
};

/// All ranks must call the same collectives in the same order, with tensors of one dtype and size; calls start in that
/// order and run beside the caller. Tensors of any strides and sizes (empty ones too) and of every dtype are taken; MIN
/// and MAX carry NaN on. SUM, AVG and PRODUCT go in rank order, so that all ranks get the same bits in every run: ((x0
/// + x1) + x2) + ..., AVG then times 1 / size (of integers SUM alone; of bool none). Gloo beyond 8 ranks, of
/// several machines, adds round a ring, NCCL beyond 2 in an order of its own. `about` says what the collective is for:
/// errors show it, and ranks that give different ones (over gloo, in the first 127 bytes) fail, even where dtype and
/// size agree. (Those of sends and receives are not compared.)
///
/// Ranks that call different things fail with an error that names both calls: before anything moves, with `local` and
/// `gloo`. NCCL does not compare; there the ranks' collectives are compared beside it, some ten times a second, so that
/// wrong numbers may be seen before the error comes, and a send whose receive differs ends with the timeout.
///
/// Tensors may be on the CPU or, of one call, on one GPU. Of those the operation runs on a stream of the group's own,
/// behind what the calling thread's current stream holds at the call, and keeps the tensors' memory until it is done.
/// `nccl` takes tensors on device() alone; `gloo` brings them through page-locked memory.
///
/// Ranks here are those of the group: 0 to size() - 1. A group that failed stays failed with its first error, and so do
/// the groups that were made of its ranks. A rank that is not in a group may hold it all the same (new_group gives it
/// one): rank() is -1 there, and every call is refused.
/// @throws Error at once for arguments that this rank can judge, DistributedError from Work::wait() for the rest
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  /// This rank, 0 to size() - 1.
  int rank() const { return rank_; }
  /// How many ranks there are.
  int size() const { return size_; }
  /// "local", "gloo" or "nccl".
  const std::string& backend() const { return backend_; }
  /// How long a call waits for other ranks before it fails.
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// Where tensors are taken by every backend: the one GPU of `nccl`, otherwise the CPU.
  Device device() const { return device_; }
  /// By rank in this group, the ranks of the default group.
  const std::vector<int>& ranks() const { return ranks_; }
  /// GroupOptions::name.
  const std::string& name() const { return name_; }

  /// x = the reduction over all ranks' x
  virtual WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// x = the x of rank src
  virtual WorkPtr broadcast(const Tensor& x, int src, const About& about = {}) = 0;
  /// On rank dst, x = the reduction; elsewhere x is left as it was.
  virtual WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// outputs[r] = the input of rank r; one output per rank. Either all are like input, or each has its rank's own size,
  /// and then all ranks must say the same sizes.
  virtual WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction over all ranks' inputs[rank()]; one input per rank, each like output
  virtual WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                                 const About& about = {}) = 0;
  /// output = all ranks' inputs, one behind the other along the first dimension, or stacked along a new one
  virtual WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction of all ranks' parts of input for this rank; input is laid out as the output above
  virtual WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                                        const About& about = {}) = 0;
  /// On rank dst, outputs[r] = the input of rank r, one output like input per rank; elsewhere there are no outputs.
  virtual WorkPtr gather(const std::vector<Tensor>& outputs, const Tensor& input, int dst, const About& about = {}) = 0;
  /// On rank dst, output = all ranks' inputs, laid out as the output of all_gather_into_tensor. On the other ranks
  /// output is not used and may be undefined.
  virtual WorkPtr gather_into_tensor(const Tensor& output, const Tensor& input, int dst, const About& about = {}) = 0;
  /// output = the inputs[rank()] of rank src, where there is one input like output per rank; elsewhere there are none.
  virtual WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src,
                          const About& about = {}) = 0;
  /// outputs[r] = the inputs[rank()] of rank r; sizes may differ from pair to pair
  virtual WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                             const About& about = {}) = 0;
  /// The same with rows of one tensor: input_split_sizes[r] of them go to rank r, in order, and output_split_sizes[r]
  /// come from it. Without sizes each rank has an equal part.
  virtual WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                                    const std::vector<int64_t>& output_split_sizes = {},
                                    const std::vector<int64_t>& input_split_sizes = {}, const About& about = {}) = 0;
  /// To and from one other rank; a send is matched by the receives of that rank with the same tag, in order. These do
  /// not count among the collectives: a send between two ranks needs nothing of a third. With `nccl`, whose kernels may
  /// wait for each other on a GPU, two ranks must issue the sends between them and the collectives in one order.
  virtual WorkPtr send(const Tensor& x, int dst, int tag = 0, const About& about = {}) = 0;
  /// x becomes what rank src sends with the same tag.
  virtual WorkPtr recv(const Tensor& x, int src, int tag = 0, const About& about = {}) = 0;
  /// From whichever rank sends with that tag, which Work::source_rank() then says. Not beside a receive from a named
  /// rank with the same tag. NCCL cannot. @throws NotImplementedError for nccl
  virtual WorkPtr recv_anysource(const Tensor& x, int tag = 0, const About& about = {}) = 0;
  /// Complete when every rank has come; wait() returns no earlier, whatever the backend.
  virtual WorkPtr barrier(const About& about = {}) = 0;
  /// The collectives between the two start together, at the end: one launch of NCCL's. On all ranks alike. What is
  /// waited for in between never comes.
  virtual void start_coalescing() = 0;
  /// Starts what was called since start_coalescing().
  virtual void end_coalescing() = 0;
  /// Fails everything under way and to come, on this rank and, where the backend can tell them, on the others.
  virtual void abort(const std::string& reason) = 0;

  /// A group of some of this group's ranks (or none), in that order, over the same backend. All ranks must call it, in
  /// one order among their calls; several that have no rank in common may be made by one call of each. new_group and
  /// split_group also see that the ranks agree. @throws DistributedError when its ranks do not come together
  virtual ProcessGroupPtr make_subgroup(const std::vector<int>& ranks, const GroupOptions& options) = 0;

  /// 1, 2, ...: tells apart those who use the group, such as several DistributedDataParallels, in what their
  /// collectives are about. It is the same on all ranks, which make them in one order.
  int next_user() { return ++users_; }

  /// Bytes of tensors that this rank has sent to others (of `local`: that it read from or wrote to their memory; of
  /// `nccl`: that a ring would send).
  virtual int64_t bytes_sent() const = 0;

 protected:
  /// @param ranks  as ranks(); empty of the default group
  ProcessGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout, Device device,
               std::vector<int> ranks, std::string name);

 private:
  int rank_, size_;
  std::string backend_;
  std::chrono::milliseconds timeout_;
  Device device_;
  std::vector<int> ranks_;
  std::string name_;
  int users_ = 0;
};

/// Coalesces the collectives that are called while it lives.
class CoalescingGuard {
 public:
  explicit CoalescingGuard(ProcessGroup& group) : group_(group) { group_.start_coalescing(); }
  ~CoalescingGuard() { group_.end_coalescing(); }
  CoalescingGuard(const CoalescingGuard&) = delete;

 private:
  ProcessGroup& group_;
};

}  // namespace tandem::distributed
