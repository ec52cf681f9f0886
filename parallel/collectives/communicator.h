// Communicator: the interface of a backend, with blocking collectives. QueuedGroup turns a Communicator into a
// ProcessGroup. Internal.
#pragma once
#include <atomic>
#include <mutex>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// A group's name and the ranks of its members in the default group.
struct GroupMembers {
  std::string name;        // empty if the group has no name
  std::vector<int> ranks;  // rank of each member in the default group
  /// Describes the group for error messages: "group tp of ranks 1, 3, 5".
  std::string str() const;
};
using GroupMembersPtr = std::shared_ptr<const GroupMembers>;  // null for the default group
inline int global_rank(int rank, const GroupMembersPtr& members) {
  return members && rank >= 0 ? members->ranks[static_cast<size_t>(rank)] : rank;
}
/// Describes a rank for error messages: "rank 1", or "rank 1 (global rank 5)" in a group other than the default group.
std::string describe_rank(int rank, const GroupMembersPtr& members);

/// Description of a call. Ranks compare it with the other ranks' calls, and errors show it.
struct CollectiveCall {
  const char* name = "";        // such as "all_reduce"
  int64_t sequence_number = 0;  // number of the collective in its group, from 1; 0 for send and recv
  std::string about = {};
  DType dtype = kFloat32;
  Device device = {};
  int64_t numel = -1;         // number of elements of one tensor; -1 if the call has no tensor
  int root_or_peer = -1;      // rank of the root, destination or source; -1 if the call has none
  bool is_reduction = false;  // whether the call reduces, so that `op` is set
  ReduceOp op = ReduceOp::SUM;
  GroupMembersPtr group = nullptr;
  detail::Shape shape = {};  // shape of the tensor that has `numel` elements
  const char* file = "";     // source file that made the call
  int line = 0;
  // for all_to_all_v(): number of elements sent to, and received from, each rank
  std::vector<int64_t> send_numels = {}, recv_numels = {};
  int64_t send_numel_to(int rank) const { return send_numels.empty() ? 0 : send_numels[static_cast<size_t>(rank)]; }
  int64_t recv_numel_from(int rank) const { return recv_numels.empty() ? 0 : recv_numels[static_cast<size_t>(rank)]; }
  /// Describes the call for error messages: "all_reduce #12 (bucket 0 of 3) of float32, 1000 elements, SUM".
  std::string str() const;
  /// Returns whether two ranks' calls match in everything on which all ranks must agree.
  bool matches(const CollectiveCall& other_rank) const;
};

/// Returns an error message if the sender and the receiver of an exchange disagree about the number of elements;
/// otherwise "".
std::string describe_mismatch(const CollectiveCall& from, int sender, const CollectiveCall& to, int receiver);

/// The first failure of a group. Later failures do not replace it.
class FirstFailure {
 public:
  /// Stores the failure if there is none yet. Returns whether it stored it.
  bool set(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!message_.empty()) return false;
    message_ = what;
    return true;
  }
  std::string what() const {
    const std::lock_guard lock(mutex_);
    return message_;
  }
  /// @throws DistributedError if there has been a failure
  void throw_if_set() const {
    const std::lock_guard lock(mutex_);
    if (!message_.empty()) throw DistributedError(message_);
  }

 private:
  mutable std::mutex mutex_;
  std::string message_;
};

/// All methods are called by one thread at a time, in the same order on all ranks. Tensors are contiguous, on one
/// device, and have the size and dtype in the call. Every wait ends within the timeout, with a DistributedError.
/// For CUDA tensors, the caller makes the group's stream current, and this stream waits for all work that produced the
/// tensors. A call returns when the whole operation is on that stream.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual void all_reduce(const CollectiveCall& call, Tensor& x) = 0;
  virtual void broadcast(const CollectiveCall& call, Tensor& x) = 0;
  virtual void reduce(const CollectiveCall& call, Tensor& x) = 0;
  virtual void all_gather(const CollectiveCall& call, std::vector<Tensor>& outputs, const Tensor& input) = 0;
  virtual void reduce_scatter(const CollectiveCall& call, Tensor& output, const std::vector<Tensor>& inputs) = 0;
  /// outputs[r] = inputs[R] of rank r, where R is this rank. An undefined tensor means that nothing is sent to, or
  /// received from, that rank. `call` has the sizes of all messages. gather, scatter and all_to_all use this method.
  virtual void all_to_all_v(const CollectiveCall& call, std::vector<Tensor>& outputs,
                            const std::vector<Tensor>& inputs) = 0;
  /// Sends x to rank call.root_or_peer. May be called from other threads, at the same time as a collective.
  virtual void send(const CollectiveCall& call, const Tensor& x, int tag) = 0;
  /// Receives x from rank call.root_or_peer, or from any rank if that is -1. Returns the rank of the sender.
  virtual int recv(const CollectiveCall& call, Tensor& x, int tag) = 0;
  virtual void barrier(const CollectiveCall& call) = 0;
  /// Makes a communicator of the ranks in `members`, in which this rank has the number `rank`. Only the ranks in
  /// `members` call this function. `name` is unique among the groups made from this one.
  virtual std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                              std::chrono::milliseconds timeout) = 0;
  /// Ends the calls in progress with an error that contains `reason`. May be called from any thread.
  virtual void abort(const std::string& reason) = 0;

  /// Begins a batch of collectives, which may be launched together at end_group().
  virtual void begin_group() {}
  virtual void end_group() {}
  /// Calls f once all collectives called so far are on the stream: at end_group() if a group call is open (after
  /// begin_group()), otherwise immediately.
  virtual void run_after_group(std::function<void()> f) { f(); }
  /// Returns the object that stores failures of GPU operations whose calls have already returned; null if the backend
  /// has no such failures.
  virtual std::shared_ptr<const FirstFailure> async_failure() const { return nullptr; }

  /// Returns a flag that the caller sets when it throws the group's failure to the program; null if nothing reads the
  /// flag.
  virtual std::shared_ptr<std::atomic<bool>> failure_reported() const { return nullptr; }

  /// Returns ProcessGroup::bytes_sent().
  virtual int64_t total_bytes_sent() const { return bytes_sent; }

 protected:
  std::atomic<int64_t> bytes_sent{0};
};

/// y = the reduction of parts[0], parts[1], ... in this order. AVG then divides by the number of parts. y may be one of
/// the parts. All tensors are contiguous and have the same size and dtype.
void reduce_in_order(const std::vector<Tensor>& parts, ReduceOp op, Tensor& y);
/// Divides a SUM over `ranks` ranks in place, which makes it the AVG.
void divide_by_num_ranks(Tensor& sum, int ranks);

class FlightLog;
/// Makes a group whose collectives run one after the other on a thread of the group.
/// @param device  value of ProcessGroup::device()
/// @param flight  records this rank's calls; if null, the group makes a log of its own
/// @param id      name of the group in the flight record
ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator, Device device = kCPU,
                                  GroupMembersPtr members = nullptr, std::shared_ptr<FlightLog> flight = nullptr,
                                  std::string id = "0");

}  // namespace tandem::distributed
