// One rank's connections to all others, over Gloo's transport and shared memory: bounded transfers, the comparison of
// calls, and one first failure for all. Internal; part of builds with Gloo only.
#pragma once
#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <list>
#include <map>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/gloo/shared_memory.h"
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// One call of a communicator's: until when it must be done.
struct Operation {
  const Call& call;
  Deadline deadline;
};

class GlooLink {
 public:
  GlooLink(const Rendezvous& job, std::chrono::milliseconds timeout);
  ~GlooLink();
  GlooLink(const GlooLink&) = delete;

  /// Returns when all ranks are connected.
  /// @throws DistributedError naming who did not come, came twice, or counts other ranks
  void connect();
  /// Tells the others that this rank leaves and, unless the group has failed, waits a little for them to leave as well,
  /// so that nothing sent is lost.
  void leave();

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::shared_ptr<gloo::Context>& context() const { return context_; }
  /// Null where the ranks do not share any.
  SharedMemory* shared_memory() const { return shared_.get(); }
  Operation operation(const Call& call) const { return {call, after(timeout_)}; }
  /// Until end(), abort() names the call. @throws as check()
  void enter(const Call& call);
  /// Of a collective, which it enters: returns when all ranks have come to it; throws the same on every rank when they
  /// do different things.
  void begin(const Operation& op);
  void end();
  /// Of a send or receive: the same with one peer, which is returned: of a receive from any rank, who sends.
  int begin(const Operation& op, int tag, bool sends);

  /// The first failure, if there is one, is thrown. The first call that meets it is named.
  void check(const Call& call);
  bool failed() const {
    const std::lock_guard lock(mutex_);
    return !failure_.empty();
  }
  /// From any thread: the group has failed, on every rank.
  void abort(const std::string& reason);
  /// The same, where the others know it already. Returns the group's failure.
  std::string fail_here(const std::string& cause);
  /// Whom the oldest wait under way is for, among all of the store's ranks; -1: nobody.
  int waits_for() const;
  /// From any thread: takes note of the store's ranks that have left the group. A wait for such a rank ends kLastWords
  /// later, so that data on its way may still arrive.
  void note_left(const LeftRanks& left);

  enum class Direction { send, recv };
  /// Waits for what is under way with a peer through a buffer of Gloo's, until abort(): that of another thread, or of
  /// the watchdog. Gloo itself does not wake all who wait for a connection that is closed.
  void wait(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  /// The same for a count in a peer's shared memory.
  void wait(const Operation& op, int peer, SharedMemory::Count what, uint64_t count);
  /// Runs a part of Gloo's and turns what it throws into the group's failure. `done` returns false when it was given
  /// up. @param peer whom it is about
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
  /// A wait under way: for whom, and what ends it.
  struct Wait {
    int peer;
    std::function<void()> wake;
    Clock::time_point begun;
  };
  void say_goodbye();
  /// Sends a call's header.
  void post(const Call& call, int peer);
  /// Writes the next call's headers for all others.
  void post_in_memory(const Call& call);
  /// Where a rank writes for another one what it calls: of the last call posted.
  Header& header_in_memory(int rank, int for_rank) const;
  /// Returns the headers of all ranks, when all have come.
  std::vector<Header> meet(const Operation& op);
  /// Takes the memory, if all ranks can have all others'.
  void share(std::shared_ptr<SharedMemory> shared, std::vector<std::string> contacts);
  /// In this group, of one of the store's ranks.
  int rank_of(int global) const;
  /// False when it was given up.
  bool wait_once(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction);
  bool wait_once(const Operation& op, int peer, SharedMemory::Count what, uint64_t count);
  void connect_all(std::shared_ptr<Mesh> mesh, const std::vector<std::string>& contacts, Deadline deadline);
  void compare(const Call& mine, const std::vector<Header>& headers);
  /// Waits for the header of whoever sends. Returns its rank.
  int hear(const Operation& op, uint64_t slot, Header& header);
  /// Without the place in Gloo's sources that its messages begin with.
  static std::string without_place(const std::string& message);
  /// For the end of an error: where one of the store's ranks runs.
  std::string where_is(int global) const;
  /// Asks the store how one of its ranks has left the group; "" if the rank has not left.
  std::string how_left(int global) const;
  /// True if no other rank is in the group any more.
  bool all_others_left() const;
  /// The error of a peer that did not do its part.
  [[noreturn]] void lost(const Call& call, int peer, const std::string& why);
  /// Fails the group with the first cause that any rank published; with `own` if there is none within `patience`.
  [[noreturn]] void fail(const Call& call, const std::string& own, std::chrono::milliseconds patience);
  std::string first_cause(const std::string& own, std::chrono::milliseconds patience);
  /// The failure says which call of this rank's has met it first. For holders of mutex_.
  void name_call(const Call& call);
  /// Closes all connections, so that the waits of the others end, whose store may be gone.
  void cut();

  int rank_, size_;
  std::shared_ptr<StoreClient> store_;
  std::chrono::milliseconds timeout_;
  std::string name_;  // of the group in the store
  const MembersPtr members_;
  const bool may_share_;
  mutable std::mutex mutex_;  // guards the next six
  std::string failure_;
  bool names_call_ = false;
  const Call* current_ = nullptr;
  std::list<Wait> waits_;                   // the oldest first
  std::map<int, Clock::time_point> left_;   // by rank here: when this rank heard that it has left
  std::shared_ptr<gloo::Context> context_;  // none for one rank
  std::shared_ptr<SharedMemory> shared_;
  std::unique_ptr<Mailbox> mailbox_;
  uint64_t calls_ = 0;  // so many headers were written into shared memory
};

/// Gloo matches sends and receives of two ranks by slot. Its own collectives use the first bytes 1 to 8.
enum class Slot : uint64_t { header = 0x40, parts, results, pair_send, pair_recv, pair_data };
constexpr char kHasLeft[] = " has left the group";  // behind a rank's name
constexpr uint64_t slot(Slot kind, uint32_t tag = 0) { return static_cast<uint64_t>(kind) << 56 | tag; }

}  // namespace tandem::distributed
