// Process groups: ranks that communicate. A rank is a process (gloo, nccl) or a thread of one process (local, nccl).
#pragma once
#include <exception>

#include "tandem/core/durations.h"
#include "tandem/core/tensor.h"

namespace tandem::distributed {

/// Reduction over the ranks' tensors. AVG is SUM times 1 / size, for floating dtypes only.
enum class ReduceOp { SUM, AVG, PRODUCT, MIN, MAX };
/// Returns "SUM", "AVG", "PRODUCT", "MIN" or "MAX".
const char* to_string(ReduceOp op);

/// Purpose of a call, and its place in the source. Converts from a text, or from {}.
struct About {
  /// By default, file and line are those of the call that has this About as an argument.
  About(std::string text = {}, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(std::move(text)), file(file), line(line) {}
  About(const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : About(std::string(text), file, line) {}
  /// Purpose of the call; empty if the caller gave none.
  std::string text;
  /// Source file of the call.
  const char* file;
  /// Line in that file, counted from 1.
  int line;
};

/// An error of the group itself: a rank is lost, late, or calls something else than the others. After its first error
/// the group stays failed and reports that error again.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// Default time that a collective waits for other ranks: five minutes.
constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);
/// Argument of Work::wait(): wait without a timeout of its own; the group's timeout ends the wait.
constexpr std::chrono::milliseconds kNoTimeout{0};

/// A collective in progress. The tensors passed to it must not be used before it is complete.
class Work {
 public:
  virtual ~Work() = default;
  /// Returns whether the collective is done or has failed. For CUDA tensors, it must be done on the GPU too.
  virtual bool is_completed() const = 0;
  /// Returns the error of a failed collective; null if it is in progress or succeeded.
  virtual std::exception_ptr exception() const = 0;
  /// Returns the sender's rank in the group for a receive that has completed; -1 for all other calls.
  virtual int source_rank() const = 0;
  /// Returns the seconds that the operation itself took, without its time in the queue. Valid once it is complete.
  virtual double seconds() const = 0;
  /// Makes later work of this thread come after the operation. For CPU tensors, returns when the operation is complete.
  /// For CUDA tensors, returns when the operation is in the GPU's queue: the calling thread's current stream waits for
  /// it, and the host does not. Always returns true, as in PyTorch. The wait ends at the group's timeout.
  /// @throws the operation's error, if it has failed by then; DistributedError if the operation is not done within
  /// `timeout`. In the latter case the operation continues, the group has not failed, and a later wait() may succeed
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout) = 0;
  /// Returns when the operation is complete, on the GPU too. @throws the operation's error
  virtual void synchronize() = 0;
};
using WorkPtr = std::shared_ptr<Work>;

class ProcessGroup;
using ProcessGroupPtr = std::shared_ptr<ProcessGroup>;

/// Options of a group made from the ranks of another group.
struct GroupOptions {
  /// Name of the group in errors: "in group tp of ranks 0, 2".
  std::string name = {};
  /// Time that a call waits for other ranks; 0: the timeout of the group that it is made from.
  std::chrono::milliseconds timeout = kNoTimeout;
};

/// All ranks must call the same collectives in the same order, with tensors of equal dtype and size. Calls start in
/// that order and run asynchronously. Tensors may have any strides, any size (0 too) and any dtype. MIN and MAX
/// propagate NaN. SUM, AVG and PRODUCT reduce in rank order, so that all ranks get bitwise equal results in every run:
/// ((x0 + x1) + x2) + ..., which AVG then multiplies by 1 / size. Exceptions: gloo on several machines with more than 8
/// ranks adds around a ring, and NCCL with more than 2 ranks uses an order of its own. `about` says what the collective
/// is for. Errors show it, and ranks whose texts differ (over gloo, in the first 127 bytes) fail even if dtype and size
/// agree. (The texts of sends and receives are not compared.)
///
/// If ranks call different collectives, they fail with an error that names both calls. `local` and `gloo` compare the
/// calls before any data moves. NCCL does not compare; the group compares the ranks' calls in the background, some ten
/// times a second. Wrong results may be seen before this error comes, and a send whose receive differs ends with the
/// timeout.
///
/// All tensors of a call must be on the CPU, or all on the same GPU. For CUDA tensors the operation
/// runs on a stream of the group, after all work that the calling thread's current stream holds at the call, and keeps
/// the tensors' memory until it is done. `nccl` takes tensors on device() only; `gloo` copies CUDA tensors through
/// page-locked memory.
///
/// Ranks in this class are ranks of the group: 0 to size() - 1. A group that has failed stays failed with its first
/// error, and so do the groups made from its ranks. A rank outside a group may hold it too (new_group returns it one):
/// rank() is then -1, and every call is an error.
/// @throws Error at once if this rank can see that an argument is wrong; other errors are a DistributedError of
/// Work::wait()
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  /// Rank of the caller, 0 to size() - 1; -1 on a rank outside the group.
  int rank() const { return rank_; }
  /// Number of ranks.
  int size() const { return size_; }
  /// Name of the backend: "local", "gloo" or "nccl".
  const std::string& backend() const { return backend_; }
  /// Time that a call waits for other ranks before it fails.
  std::chrono::milliseconds timeout() const { return timeout_; }
  /// Device on which the backend takes tensors: for `nccl` this rank's GPU, otherwise the CPU.
  Device device() const { return device_; }
  /// Ranks of the default group, by rank in this group.
  const std::vector<int>& ranks() const { return ranks_; }
  /// GroupOptions::name of this group.
  const std::string& name() const { return name_; }

  /// x = the reduction over all ranks' x
  virtual WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// x = the x of rank src
  virtual WorkPtr broadcast(const Tensor& x, int src, const About& about = {}) = 0;
  /// On rank dst, x = the reduction; on the other ranks x keeps its value.
  virtual WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// outputs[r] = the input of rank r; one output per rank. Either all outputs have the size of input, or each output
  /// has the size of its rank's input; then all ranks must pass the same list of sizes.
  virtual WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction over all ranks' inputs[rank()]; one input per rank, each with the size of output
  virtual WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                                 const About& about = {}) = 0;
  /// output = all ranks' inputs, concatenated along the first dimension, or stacked along a new one
  virtual WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction over all ranks of their part of input for this rank; input is laid out as the output of
  /// all_gather_into_tensor
  virtual WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                                        const About& about = {}) = 0;
  /// On rank dst, outputs[r] = the input of rank r; one output per rank, each with the size of input. On the other
  /// ranks `outputs` must be empty.
  virtual WorkPtr gather(const std::vector<Tensor>& outputs, const Tensor& input, int dst, const About& about = {}) = 0;
  /// On rank dst, output = all ranks' inputs, laid out as the output of all_gather_into_tensor. On the other ranks
  /// output is not used and may be undefined.
  virtual WorkPtr gather_into_tensor(const Tensor& output, const Tensor& input, int dst, const About& about = {}) = 0;
  /// output = inputs[rank()] of rank src, which has one input per rank, each with the size of output. On the other
  /// ranks `inputs` must be empty.
  virtual WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src,
                          const About& about = {}) = 0;
  /// outputs[r] = inputs[rank()] of rank r; sizes may differ between pairs of ranks
  virtual WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                             const About& about = {}) = 0;
  /// As all_to_all, with rows of one tensor: input_split_sizes[r] rows go to rank r, in order, and
  /// output_split_sizes[r] rows come from it. Without sizes, each rank gets an equal part.
  virtual WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                                    const std::vector<int64_t>& output_split_sizes = {},
                                    const std::vector<int64_t>& input_split_sizes = {}, const About& about = {}) = 0;
  /// Sends x to rank dst. Sends match that rank's receives with the same tag, in order. Sends and receives are not
  /// collectives: a send between two ranks needs nothing of a third. With `nccl`, kernels may wait for each other on a
  /// GPU, so two ranks must issue their sends and the collectives in the same order.
  virtual WorkPtr send(const Tensor& x, int dst, int tag = 0, const About& about = {}) = 0;
  /// x = the tensor that rank src sends with the same tag
  virtual WorkPtr recv(const Tensor& x, int src, int tag = 0, const About& about = {}) = 0;
  /// Receives from any rank that sends with that tag; Work::source_rank() then returns the sender. Do not use it
  /// together with a receive from a given rank with the same tag. @throws NotImplementedError for nccl
  virtual WorkPtr recv_anysource(const Tensor& x, int tag = 0, const About& about = {}) = 0;
  /// Completes when every rank has called it. wait() blocks the host until then, for every backend.
  virtual WorkPtr barrier(const About& about = {}) = 0;
  /// Holds back the collectives that follow until end_coalescing(), which starts them together, as one launch with
  /// NCCL. All ranks must do the same. Do not wait for a collective before end_coalescing(): it never completes.
  virtual void start_coalescing() = 0;
  /// Starts the collectives that were called since start_coalescing().
  virtual void end_coalescing() = 0;
  /// Fails all calls in progress and all later calls, on this rank, and on the others if the backend can tell them.
  virtual void abort(const std::string& reason) = 0;

  /// Makes a group of some of this group's ranks (or none), in the given order, over the same backend. All ranks must
  /// call it, in the same order among their calls; groups without a common rank may be made by a single call in which
  /// each rank passes its own group. new_group and split_group also check that the ranks agree.
  /// @throws DistributedError if the group's ranks do not all join
  virtual ProcessGroupPtr make_subgroup(const std::vector<int>& ranks, const GroupOptions& options) = 0;

  /// Returns 1, 2, ...: a number that distinguishes the users of the group, such as several DistributedDataParallels,
  /// in the descriptions of their collectives. It is equal on all ranks if they create these users in the same order.
  int next_user() { return ++users_; }

  /// Bytes of tensors that this rank has sent to others. For `local`: bytes that it read from or wrote to other ranks'
  /// memory; for `nccl`: bytes that a ring algorithm would send.
  virtual int64_t bytes_sent() const = 0;

 protected:
  /// @param ranks  as ranks(); empty for the default group
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

/// Coalesces the collectives that are called while this guard lives.
class CoalescingGuard {
 public:
  explicit CoalescingGuard(ProcessGroup& group) : group_(group) { group_.start_coalescing(); }
  ~CoalescingGuard() { group_.end_coalescing(); }
  CoalescingGuard(const CoalescingGuard&) = delete;

 private:
  ProcessGroup& group_;
};

}  // namespace tandem::distributed
