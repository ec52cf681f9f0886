// GlooLink: connects one rank to all others, over Gloo's transport and through shared memory. Limits the time of
// transfers, compares the calls of the ranks, and throws the same first failure from all calls. Internal; compiled only
// in builds with Gloo.
#pragma once
#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <list>
#include <map>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/gloo/shared_memory.h"
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// A call of a communicator, and its deadline.
struct CallWithDeadline {
  const CollectiveCall& call;
  Deadline deadline;
};

class GlooLink {
 public:
  GlooLink(const Rendezvous& job, std::chrono::milliseconds timeout);
  ~GlooLink();
  GlooLink(const GlooLink&) = delete;

  /// Connects all ranks. Returns when all are connected.
  /// @throws DistributedError naming a rank that did not connect, joined twice, or was started with a different number
  /// of ranks
  void connect();
  /// Tells the other ranks that this rank leaves. Unless the group has failed, waits a few seconds for them to leave as
  /// well, so that no data in flight are lost.
  void leave();

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::shared_ptr<gloo::Context>& context() const { return context_; }
  /// Returns the shared memory of the ranks; null if they share none.
  SharedMemory* shared_memory() const { return shared_memory_.get(); }
  CallWithDeadline with_deadline(const CollectiveCall& call) const { return {call, deadline_after(timeout_)}; }
  /// Marks the beginning of a call. Until end_call(), abort() names this call in its error. @throws DistributedError as
  /// throw_if_failed()
  void begin_call(const CollectiveCall& call);
  /// Begins a collective: returns when all ranks have called the collective. If the ranks call different collectives,
  /// throws the same error on every rank.
  void begin_collective(const CallWithDeadline& op);
  void end_call();
  /// Begins a send or receive: compares it with the call of the peer. Returns the peer. If the call receives from any
  /// rank, the peer is the rank that sends.
  int begin_p2p(const CallWithDeadline& op, int tag, bool sends);

  /// Throws the group's first failure, if there is one. The message names the call of this rank that met the failure
  /// first.
  void throw_if_failed(const CollectiveCall& call);
  bool has_failed() const {
    const std::lock_guard lock(mutex_);
    return !failure_.empty();
  }
  /// Fails the group on all ranks. May be called from any thread.
  void abort(const std::string& reason);
  /// Fails the group on this rank only, because the other ranks know of the failure. Returns the group's first failure.
  std::string fail_locally(const std::string& cause);
  /// Returns the rank that the oldest wait in progress waits for, as a rank in the default group; -1 if nothing waits,
  /// or if the wait is for any rank.
  int waits_for() const;
  /// Records which ranks have left the group, by rank in the default group. May be called from any thread. A wait for
  /// such a rank ends after kDrainTime, so that data in flight may still arrive.
  void record_left_ranks(const LeftRanks& left);

  enum class Direction { send, recv };
  /// Waits for the oldest transfer with a peer through a Gloo buffer. Another thread can end the wait by abort(). The
  /// watchdog does so after a failure, because Gloo does not wake all waits when a connection closes.
  void wait(const CallWithDeadline& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  /// Waits until the progress counter `what` of a peer, in shared memory, reaches `count`.
  void wait(const CallWithDeadline& op, int peer, SharedMemory::ProgressCounter what, uint64_t count);
  /// Runs call_gloo(), which calls Gloo, and turns its exceptions into the group's failure. call_gloo() returns false
  /// if its wait was aborted.
  /// @param peer  rank that the failure names
  template <class F> void call_guarded(const CallWithDeadline& op, int peer, F&& call_gloo) {
    throw_if_failed(op.call);
    std::string why;
    try {
      if (call_gloo()) return;
    } catch (const std::exception& error) {
      why = error.what();
    }
    fail_for_peer(op.call, peer, why);
  }

 private:
  struct CallHeader;
  struct Mailbox;
  class Mesh;
  class WaitGuard;
  /// A wait in progress: the rank it waits for, and a function that ends it.
  struct PendingWait {
    int peer;
    std::function<void()> end_wait;
    Clock::time_point start_time;
  };
  void wait_for_others_to_leave();
  /// Sends a header, which describes this rank's call, to a peer.
  void send_header(const CollectiveCall& call, int peer);
  /// Writes the header of this rank's next call into shared memory, for every other rank.
  void write_header_to_shared_memory(const CollectiveCall& call);
  /// Returns the place in shared memory where `rank` writes the header of its latest call for `for_rank`.
  CallHeader& header_in_shared_memory(int rank, int for_rank) const;
  /// Sends the header of this rank's call to all ranks, and returns the headers of all ranks once they have arrived.
  std::vector<CallHeader> exchange_headers(const CallWithDeadline& op);
  /// Uses the shared memory if every rank can map the memory of every other rank.
  void enable_shared_memory(std::shared_ptr<SharedMemory> shared, std::vector<std::string> contacts);
  /// Converts a rank of the default group to a rank of this group. Returns size() or more if it is not a member.
  int group_rank_of(int global) const;
  /// Waits for a transfer without handling errors. Returns false if the wait was aborted.
  bool wait_once(const CallWithDeadline& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  bool wait_once(const CallWithDeadline& op, int peer, SharedMemory::ProgressCounter what, uint64_t count);
  void connect_all(std::shared_ptr<Mesh> mesh, const std::vector<std::string>& contacts, Deadline deadline);
  void compare_calls(const CollectiveCall& mine, const std::vector<CallHeader>& headers);
  /// Waits for a header from any rank. Returns the rank that sent it.
  int wait_for_any_header(const CallWithDeadline& op, uint64_t slot, CallHeader& header);
  /// Removes the source position, such as "[file.cc:12] ", from the beginning of one of Gloo's error messages.
  static std::string strip_source_location(const std::string& message);
  /// Returns the process and machine of a rank of the default group, as text to append to an error.
  std::string describe_location(int global) const;
  /// Asks the store how a rank of the default group has left this group; "" if it has not left.
  std::string describe_leave(int global) const;
  /// Returns whether all other ranks have left the group.
  bool all_others_left() const;
  /// Fails the group because a peer did not complete a transfer.
  [[noreturn]] void fail_for_peer(const CollectiveCall& call, int peer, const std::string& why);
  /// Fails the group with the first cause that any rank publishes within `grace_period`. If no rank publishes a cause,
  /// fails the group with the cause `own`.
  [[noreturn]] void fail_group(const CollectiveCall& call, const std::string& own,
                               std::chrono::milliseconds grace_period);
  std::string wait_for_first_cause(const std::string& own, std::chrono::milliseconds grace_period);
  /// Prepends to the failure the name of the first call of this rank that met the failure. The caller must hold mutex_.
  void prepend_call_name(const CollectiveCall& call);
  /// Closes all connections, so that the waits of the other ranks end even if the store is gone.
  void close_connections();

  int rank_, size_;
  std::shared_ptr<StoreClient> store_;
  std::chrono::milliseconds timeout_;
  std::string group_name_;  // name of the group in the store
  const GroupMembersPtr members_;
  const bool allow_shared_memory_;
  mutable std::mutex mutex_;  // guards the members from failure_ to shared_memory_
  std::string failure_;
  bool has_call_name_ = false;
  const CollectiveCall* current_call_ = nullptr;
  std::list<PendingWait> waits_;  // oldest wait first
  // for each rank that has left: when this rank learned of it, by rank in this group
  std::map<int, Clock::time_point> left_ranks_;
  std::shared_ptr<gloo::Context> context_;  // null if the group has only one rank
  std::shared_ptr<SharedMemory> shared_memory_;
  std::unique_ptr<Mailbox> mailbox_;
  uint64_t num_headers_written_ = 0;  // number of calls whose headers this rank has written into shared memory
};

/// Kinds of messages. Gloo matches a send with a receive if their slots are equal. The highest byte of a slot is the
/// kind; Gloo's own collectives use the kinds 1 to 8.
enum class MessageKind : uint64_t { header = 0x40, parts, results, pair_send, pair_recv, pair_data };
constexpr char kHasLeftText[] = " has left the group";  // text that follows the name of a rank in error messages
constexpr uint64_t make_gloo_slot(MessageKind kind, uint32_t tag = 0) {
  return static_cast<uint64_t>(kind) << 56 | tag;
}

}  // namespace tandem::distributed
