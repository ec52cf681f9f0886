// GlooLink: one rank's connections to all others, over Gloo's transport and shared memory. Bounds the time of
// transfers, compares the ranks' calls, and gives all calls the same first failure. Internal; part of builds with Gloo
// only.
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
struct Operation {
  const Call& call;
  Deadline deadline;
};

class GlooLink {
 public:
  GlooLink(const Rendezvous& job, std::chrono::milliseconds timeout);
  ~GlooLink();
  GlooLink(const GlooLink&) = delete;

  /// Connects all ranks. Returns when all are connected.
  /// @throws DistributedError naming a rank that did not connect, came twice, or has another number of ranks
  void connect();
  /// Tells the others that this rank leaves. Unless the group has failed, waits up to some seconds for them to leave as
  /// well, so that no data are lost.
  void leave();

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::shared_ptr<gloo::Context>& context() const { return context_; }
  /// Shared memory of the ranks; null if they do not share any.
  SharedMemory* shared_memory() const { return shared_.get(); }
  Operation operation(const Call& call) const { return {call, after(timeout_)}; }
  /// Sets the call that abort() names, until end(). @throws as check()
  void enter(const Call& call);
  /// Begins a collective: enters it, and returns when all ranks have called it. If the ranks call different
  /// collectives, throws the same error on every rank.
  void begin(const Operation& op);
  void end();
  /// Begins a send or receive: compares it with one peer's call. Returns the peer; for a receive from any rank, the
  /// sender.
  int begin(const Operation& op, int tag, bool sends);

  /// Throws the group's first failure, if there is one. Its message names the first call that met it.
  void check(const Call& call);
  bool failed() const {
    const std::lock_guard lock(mutex_);
    return !failure_.empty();
  }
  /// Fails the group on every rank. May be called from any thread.
  void abort(const std::string& reason);
  /// Fails the group on this rank only, because the others know already. Returns the group's failure.
  std::string fail_here(const std::string& cause);
  /// Returns the rank that the oldest wait in progress waits for, as a rank of the store; -1 if nothing waits, or if
  /// the wait is for any rank.
  int waits_for() const;
  /// Records the ranks of the store that have left the group. May be called from any thread. A wait for such a rank
  /// ends after kLastWords, so that data in flight may still arrive.
  void note_left(const LeftRanks& left);

  enum class Direction { send, recv };
  /// Waits for the oldest transfer with a peer through a Gloo buffer. abort() ends the wait; another thread or the
  /// watchdog calls it. Gloo itself does not wake all waits for a connection that closes.
  void wait(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  /// Waits for a count in a peer's shared memory.
  void wait(const Operation& op, int peer, SharedMemory::Count what, uint64_t count);
  /// Runs a part of Gloo and turns its exceptions into the group's failure. `done` returns false if its wait was
  /// aborted.
  /// @param peer  the rank that the failure is about
  template <class F> void guard(const Operation& op, int peer, F&& done) {
    check(op.call);
    std::string why;
    try {
      if (done()) return;
    } catch (const std::exception& error) {
      why = error.what();
    }
    lost(op.call, peer, why);
  }

 private:
  struct Header;
  struct Mailbox;
  class Mesh;
  class Waiting;
  /// A wait in progress: the rank it waits for, and a function that ends it.
  struct Wait {
    int peer;
    std::function<void()> wake;
    Clock::time_point begun;
  };
  void say_goodbye();
  /// Sends the header of a call to a peer.
  void post(const Call& call, int peer);
  /// Writes the headers of the next call for all other ranks.
  void post_in_memory(const Call& call);
  /// Returns the memory in which `rank` writes its latest call for `for_rank`.
  Header& header_in_memory(int rank, int for_rank) const;
  /// Sends this rank's header to all, and returns the headers of all ranks once they have arrived.
  std::vector<Header> meet(const Operation& op);
  /// Uses the shared memory if every rank can map the memory of all others.
  void share(std::shared_ptr<SharedMemory> shared, std::vector<std::string> contacts);
  /// Converts a rank of the store to a rank of this group. Returns size() or more for a rank outside the group.
  int rank_of(int global) const;
  /// Waits without handling errors. Returns false if the wait was aborted.
  bool wait_once(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  bool wait_once(const Operation& op, int peer, SharedMemory::Count what, uint64_t count);
  void connect_all(std::shared_ptr<Mesh> mesh, const std::vector<std::string>& contacts, Deadline deadline);
  void compare(const Call& mine, const std::vector<Header>& headers);
  /// Waits for the header of any rank that sends. Returns that rank.
  int hear(const Operation& op, uint64_t slot, Header& header);
  /// Removes the source position at the beginning of Gloo's messages.
  static std::string without_place(const std::string& message);
  /// Returns where a rank of the store runs, as text to append to an error.
  std::string where_is(int global) const;
  /// Asks the store how one of its ranks has left the group; "" if the rank has not left.
  std::string how_left(int global) const;
  /// Returns whether all other ranks have left the group.
  bool all_others_left() const;
  /// Fails the group because a peer did not do its part.
  [[noreturn]] void lost(const Call& call, int peer, const std::string& why);
  /// Fails the group with the first cause that any rank has published, or with `own` if there is none within
  /// `patience`.
  [[noreturn]] void fail(const Call& call, const std::string& own, std::chrono::milliseconds patience);
  std::string first_cause(const std::string& own, std::chrono::milliseconds patience);
  /// Adds to the failure which call of this rank met it first. The caller must hold mutex_.
  void name_call(const Call& call);
  /// Closes all connections, so that the waits of other ranks end even if their store is gone.
  void cut();

  int rank_, size_;
  std::shared_ptr<StoreClient> store_;
  std::chrono::milliseconds timeout_;
  std::string name_;  // name of the group in the store
  const MembersPtr members_;
  const bool may_share_;
  mutable std::mutex mutex_;  // guards the next six members
  std::string failure_;
  bool names_call_ = false;
  const Call* current_ = nullptr;
  std::list<Wait> waits_;                   // the oldest first
  std::map<int, Clock::time_point> left_;   // by rank in this group: time when this rank heard that it has left
  std::shared_ptr<gloo::Context> context_;  // null if there is one rank
  std::shared_ptr<SharedMemory> shared_;
  std::unique_ptr<Mailbox> mailbox_;
  uint64_t calls_ = 0;  // number of headers written into shared memory
};

/// Gloo matches sends and receives of two ranks by slot. Its own collectives use the first bytes 1 to 8.
enum class Slot : uint64_t { header = 0x40, parts, results, pair_send, pair_recv, pair_data };
constexpr char kHasLeft[] = " has left the group";  // follows a rank's name in errors
constexpr uint64_t slot(Slot kind, uint32_t tag = 0) { return static_cast<uint64_t>(kind) << 56 | tag; }

}  // namespace tandem::distributed
