// What a backend provides: blocking collectives. QueuedGroup makes a ProcessGroup of it. Internal.
#pragma once
#include <atomic>
#include <mutex>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {

/// Which ranks of the default group a group has.
struct Members {
  std::string name;        // may be empty
  std::vector<int> ranks;  // by rank in the group
  /// "group tp of ranks 1, 3, 5"
  std::string str() const;
};
using MembersPtr = std::shared_ptr<const Members>;  // null: all, in order; the default group
inline int global_rank(int rank, const MembersPtr& members) {
  return members && rank >= 0 ? members->ranks[static_cast<size_t>(rank)] : rank;
}
/// "rank 1"; of another than the default group "rank 1 (global rank 5)".
std::string rank_text(int rank, const MembersPtr& members);

/// What a call is, for comparing ranks and for errors.
struct Call {
  const char* name = "";  // "all_reduce"
  int64_t sequence = 0;   // how-manieth collective of the group, from 1; 0 for send and recv
  std::string about = {};
  DType dtype = kFloat32;
  Device device = {};
  int64_t numel = -1;    // of one tensor; -1 where there is none
  int other = -1;        // root, destination or source
  bool reduces = false;  // `op` counts
  ReduceOp op = ReduceOp::SUM;
  MembersPtr group = nullptr;
  detail::Shape shape = {};  // of the tensor that `numel` counts
  const char* file = "";     // where it was called
  int line = 0;
  std::vector<int64_t> sends = {}, receives = {};  // of an exchange: elements to and from each rank
  int64_t sends_to(int rank) const { return sends.empty() ? 0 : sends[static_cast<size_t>(rank)]; }
  int64_t receives_from(int rank) const { return receives.empty() ? 0 : receives[static_cast<size_t>(rank)]; }
  /// "all_reduce #12 (bucket 0 of 3) of float32, 1000 elements, SUM"
  std::string str() const;
  /// What all ranks must agree on.
  bool agrees(const Call& other_rank) const;
};

/// What is wrong when a sender and a receiver of one exchange count differently; empty if nothing is.
std::string mismatch(const Call& from, int sender, const Call& to, int receiver);

/// The first failure of a group, which it keeps.
class FirstFailure {
 public:
  /// Whether it was the first.
  bool set(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!what_.empty()) return false;
    what_ = what;
    return true;
  }
  std::string what() const {
    const std::lock_guard lock(mutex_);
    return what_;
  }
  /// @throws DistributedError if there was one
  void check() const {
    const std::lock_guard lock(mutex_);
    if (!what_.empty()) throw DistributedError(what_);
  }

 private:
  mutable std::mutex mutex_;
  std::string what_;
};

/// Called from one thread at a time, in the same order on all ranks. Tensors are contiguous, on one device, and of the
/// size and dtype that the call says. Every wait ends within the timeout. @throws DistributedError
///
/// Of CUDA tensors the device's current stream is the group's, and behind all that made the tensors what they are: a
/// call is done when all of it is on that stream.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual void all_reduce(const Call& call, Tensor& x) = 0;
  virtual void broadcast(const Call& call, Tensor& x) = 0;
  virtual void reduce(const Call& call, Tensor& x) = 0;
  virtual void all_gather(const Call& call, std::vector<Tensor>& outputs, const Tensor& input) = 0;
  virtual void reduce_scatter(const Call& call, Tensor& output, const std::vector<Tensor>& inputs) = 0;
  /// outputs[r] = the inputs[this rank] of rank r; undefined ones stand for nothing. The call has all the sizes. What
  /// gather, scatter and all_to_all are made of.
  virtual void exchange(const Call& call, std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) = 0;
  /// May be called beside a collective, from other threads.
  virtual void send(const Call& call, const Tensor& x, int tag) = 0;
  /// From call.other, or from any rank where that is -1. Returns who sent.
  virtual int recv(const Call& call, Tensor& x, int tag) = 0;
  virtual void barrier(const Call& call) = 0;
  /// A communicator of the ranks that `members` names, of which this is the rank-th: called on them alone. `name` is
  /// that of no other group of this one.
  virtual std::unique_ptr<Communicator> split(const std::string& name, int rank, MembersPtr members,
                                              std::chrono::milliseconds timeout) = 0;
  /// From any thread: ends the calls under way with an error that says `reason`.
  virtual void abort(const std::string& reason) = 0;

  /// The collectives in between may start together, at the end.
  virtual void begin_group() {}
  virtual void end_group() {}
  /// Calls f when the collectives that were called are on the stream: at once unless in a group.
  virtual void then(std::function<void()> f) { f(); }
  /// Where what fails on the GPU, after its call, is found; null where nothing does.
  virtual std::shared_ptr<const FirstFailure> failure() const { return nullptr; }

  /// To be set when the group's failure is thrown to the program; null where nobody asks.
  virtual std::shared_ptr<std::atomic<bool>> told() const { return nullptr; }

  /// As ProcessGroup::bytes_sent().
  virtual int64_t total_sent() const { return bytes_sent; }

 protected:
  std::atomic<int64_t> bytes_sent{0};
};

/// y = the reduction of parts[0], parts[1], ... in this order, AVG included; y may be one of them. Contiguous tensors
/// of one size and dtype.
void reduce_in_order(const std::vector<Tensor>& parts, ReduceOp op, Tensor& y);
/// What AVG does to a SUM over `ranks`.
void average(Tensor& sum, int ranks);

class FlightLog;
/// A group whose collectives run one after the other on a thread of its own.
/// @param device  as ProcessGroup::device()
/// @param flight  where this rank's calls are recorded; null: in a log of the group's own
/// @param id      the group's name in that record
ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator, Device device = kCPU,
                                  MembersPtr members = nullptr, std::shared_ptr<FlightLog> flight = nullptr,
                                  std::string id = "0");

}  // namespace tandem::distributed
