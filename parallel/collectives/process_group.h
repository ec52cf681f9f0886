// Process groups: ranks that communicate. A rank is a process (backends gloo and nccl) or a thread of one process
// (backends local, gloo and nccl).
#pragma once
#include <exception>

#include "tandem/core/durations.h"
#include "tandem/core/tensor.h"

namespace tandem::distributed {

/// Kind of reduction over the tensors of all ranks. AVG is SUM times 1 / size, for floating dtypes only.
enum class ReduceOp { SUM, AVG, PRODUCT, MIN, MAX };
/// Returns "SUM", "AVG", "PRODUCT", "MIN" or "MAX".
const char* to_string(ReduceOp op);

/// Purpose of a call, and the source line that makes it. Converts from a string, or from {}.
struct About {
  /// Stores the purpose of a call. By default, `file` and `line` are those of the call to which this About is passed.
  About(std::string text = {}, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(std::move(text)), file(file), line(line) {}
  About(const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : About(std::string(text), file, line) {}
  /// Purpose of the call; empty if the caller gave none.
  std::string text;
  /// Source file of the call.
  const char* file;
  /// Line of the call in its source file, counted from 1.
  int line;
};

/// An error of the group itself: a rank is lost, is late, or makes another call than the others. After its first error
/// a group stays failed, and later calls throw that error again.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// Default time that a collective waits for other ranks: five minutes.
constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);
/// Value for Work::wait(): no timeout other than the group's.
constexpr std::chrono::milliseconds kNoTimeout{0};

/// A collective in progress. The tensors passed to it must not be used before it is complete.
class Work {
 public:
  virtual ~Work() = default;
  /// Returns whether the collective has completed or failed. For CUDA tensors, completed means on the GPU too.
  virtual bool is_completed() const = 0;
  /// Returns the error of a failed collective; null if it is in progress or succeeded.
  virtual std::exception_ptr exception() const = 0;
  /// Returns the sender's rank in the group for a receive that has completed; -1 for all other calls.
  virtual int source_rank() const = 0;
  /// Returns the seconds that the operation took, not counting its time in the queue. Valid once the operation is
  /// complete.
  virtual double elapsed_seconds() const = 0;
  /// Makes later work of this thread wait for the operation. For CPU tensors, returns when the operation is complete.
  /// For CUDA tensors, returns when the operation is in the GPU's queue: the calling thread's current stream waits for
  /// it, and the host does not. Always returns true, as in PyTorch. Waits at most until the group's timeout.
  /// @throws the operation's error, if it has failed by then; DistributedError if the operation is not done within
  /// `timeout`. In the latter case the operation continues, the group has not failed, and a later wait() may succeed
  virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout) = 0;
  /// Waits until the operation is complete, on the GPU too. @throws the operation's error
  virtual void synchronize() = 0;
};
using WorkPtr = std::shared_ptr<Work>;

class ProcessGroup;
using ProcessGroupPtr = std::shared_ptr<ProcessGroup>;

/// Options of a group made from the ranks of another group.
struct GroupOptions {
  /// Name of the group in error messages: "in group tp of ranks 0, 2".
  std::string name = {};
  /// Time that a call waits for other ranks. 0 means the timeout of the group from which this group is made.
  std::chrono::milliseconds timeout = kNoTimeout;
};

/// A group of ranks that communicate. All ranks must call the same collectives in the same order, with tensors of equal
/// dtype and size. Calls start in that order and run asynchronously. Tensors may have any strides, any size (0 too) and
/// any dtype. MIN and MAX propagate NaN. SUM, AVG and PRODUCT reduce in rank order: a sum is ((x0 + x1) + x2) + ...,
/// which AVG multiplies by 1 / size. So all ranks get bitwise equal results in every run. Exceptions: gloo's all_reduce
/// over TCP with more than 8 ranks reduces elements of 4 or 8 bytes around a ring, and NCCL with more than 2 ranks uses
/// an order of its own.
/// `about` says what the collective is for. Errors show it, and the call fails if the ranks' texts differ (over gloo,
/// in the first 127 bytes), even if dtype and size agree. (The texts of sends and receives are not compared.)
///
/// If ranks call different collectives, they fail with an error that names both calls. `local` and `gloo` compare the
/// calls before any data moves. NCCL does not compare; the group compares the ranks' calls in the background, some ten
/// times a second. Wrong results may be seen before this error comes. With NCCL, a send and a receive that do not
/// match fail at the timeout.
///
/// All tensors of a call must be on the CPU, or all of them on the same GPU. For CUDA tensors the operation runs on a
/// stream of the group, after all work that the calling thread's current stream holds at the call, and keeps the
/// tensors' memory until it is done. `nccl` takes tensors on device() only; `gloo` copies CUDA tensors through
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
  /// A device on which the backend takes tensors: for `nccl` this rank's GPU, otherwise the CPU.
  Device device() const { return device_; }
  /// Returns the members' ranks in the default group, by rank in this group.
  const std::vector<int>& ranks() const { return ranks_; }
  /// GroupOptions::name of this group.
  const std::string& name() const { return name_; }

  /// x = the reduction over all ranks' x
  virtual WorkPtr all_reduce(const Tensor& x, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// x = the x of rank src
  virtual WorkPtr broadcast(const Tensor& x, int src, const About& about = {}) = 0;
  /// On rank dst, x = the reduction; on the other ranks x keeps its value.
  virtual WorkPtr reduce(const Tensor& x, int dst, ReduceOp op = ReduceOp::SUM, const About& about = {}) = 0;
  /// outputs[r] = the input of rank r; one output per rank. Either all outputs have the size of input, or the size of
  /// outputs[r] is the size of rank r's input; all ranks must then pass outputs of the same sizes.
  virtual WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction over all ranks of inputs[R], where R is this rank. There is one input per rank, each with
  /// the size of output.
  virtual WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op = ReduceOp::SUM,
                                 const About& about = {}) = 0;
  /// output = the inputs of all ranks, concatenated along the first dimension, or stacked along a new first dimension
  virtual WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const About& about = {}) = 0;
  /// output = the reduction over all ranks of the part of input for this rank. input has one part per rank, in the
  /// layout of the output of all_gather_into_tensor.
  virtual WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::SUM,
                                        const About& about = {}) = 0;
  /// On rank dst, outputs[r] = the input of rank r; one output per rank, each with the size of input. On the other
  /// ranks `outputs` must be empty.
  virtual WorkPtr gather(const std::vector<Tensor>& outputs, const Tensor& input, int dst, const About& about = {}) = 0;
  /// On rank dst, output = the inputs of all ranks, in the layout of the output of all_gather_into_tensor. On the other
  /// ranks output is not used and may be undefined.
  virtual WorkPtr gather_into_tensor(const Tensor& output, const Tensor& input, int dst, const About& about = {}) = 0;
  /// output = inputs[R] of rank src, where R is this rank. Rank src has one input per rank, each with the size of
  /// output. On the other ranks `inputs` must be empty.
  virtual WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src,
                          const About& about = {}) = 0;
  /// outputs[r] = inputs[R] of rank r, where R is this rank. Sizes may differ between pairs of ranks.
  virtual WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                             const About& about = {}) = 0;
  /// Exchanges rows of one tensor: the first input_split_sizes[0] rows go to rank 0, the next input_split_sizes[1] rows
  /// to rank 1, and so on; output_split_sizes[r] rows come from rank r. If a list of sizes is empty, the rows are split
  /// evenly.
  virtual WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                                    const std::vector<int64_t>& output_split_sizes = {},
                                    const std::vector<int64_t>& input_split_sizes = {}, const About& about = {}) = 0;
  /// Sends x to rank dst. The sends and receives of two ranks with the same tag match in order. A send is not a
  /// collective: it involves no third rank. With `nccl`, kernels on a GPU may wait for each other, so the two ranks
  /// must issue their sends, their receives and the group's collectives in the same order.
  virtual WorkPtr send(const Tensor& x, int dst, int tag = 0, const About& about = {}) = 0;
  /// x = the tensor that rank src sends with the same tag
  virtual WorkPtr recv(const Tensor& x, int src, int tag = 0, const About& about = {}) = 0;
  /// Receives from any rank that sends with `tag`. Work::source_rank() then returns the sender. Do not mix it with
  /// receives from a given rank with the same tag. @throws NotImplementedError for nccl
  virtual WorkPtr recv_anysource(const Tensor& x, int tag = 0, const About& about = {}) = 0;
  /// Completes when every rank has called barrier(). Work::wait() blocks the host until then, for every backend.
  virtual WorkPtr barrier(const About& about = {}) = 0;
  /// Holds later collectives back until end_coalescing(), which starts them together; with NCCL, as one launch. All
  /// ranks must do the same. Do not wait for such a collective before end_coalescing(), because it does not complete
  /// before.
  virtual void start_coalescing() = 0;
  /// Starts the collectives that were called since start_coalescing().
  virtual void end_coalescing() = 0;
  /// Fails all calls in progress and all later calls on this rank, and on the other ranks if the backend can reach
  /// them.
  virtual void abort(const std::string& reason) = 0;

  /// Makes a group of some or none of this group's ranks, in the given order, over the same backend. All ranks must
  /// call it, and call it in the same order as their other calls. One call can make several groups without common
  /// ranks: each rank passes the list of its own group. new_group and split_group also check that the ranks agree.
  /// @throws DistributedError if a rank of the new group does not join
  virtual ProcessGroupPtr make_subgroup(const std::vector<int>& ranks, const GroupOptions& options) = 0;

  /// Returns a number for a new object that uses the group, such as a DistributedDataParallel: 1 in the first call,
  /// then 2, and so on. The object's name in error messages contains the number ("DDP 1"). The number is equal on all
  /// ranks if they create these objects in the same order.
  int next_user() { return ++num_users_; }

  /// Returns the bytes of tensors that this rank has sent to other ranks. For `local`: bytes read from or written to
  /// memory of other ranks. For `nccl`: bytes that a ring algorithm would send.
  virtual int64_t bytes_sent() const = 0;

 protected:
  /// @param ranks  value of ranks(); empty for the default group
  ProcessGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout, Device device,
               std::vector<int> ranks, std::string name);

 private:
  int rank_, size_;
  std::string backend_;
  std::chrono::milliseconds timeout_;
  Device device_;
  std::vector<int> ranks_;
  std::string name_;
  int num_users_ = 0;
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
