// Memory that the ranks of a group share where they run on one machine. Internal; part of builds with Gloo only.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

// Note [Shared memory]
// Every rank has a segment of anonymous memory, into which it alone writes: its calls, pieces of tensors, and counts of
// how far it has come. The others map it through /proc, so that nothing has a name that could be left behind; a number
// that cannot be guessed tells whether it is the right one. A rank that cannot map one says so, and all take Gloo.
//
// Counts only grow, and a rank raises one behind what it stands for. Whoever waits for a count watches it for a while
// and then sleeps on the segment's `events`, a futex: a rank raises its count, then `events`, then looks for sleepers;
// who sleeps has read `events`, then the count, then counted itself; the kernel compares `events` once more.
//
// A slot holds a piece of a tensor. Pieces are numbered through, the same on all ranks, and piece n takes slot
// n % kSlots once all others are done with piece n - kSlots. A call takes the half of the calls' memory that its number
// says: who has heard all others' call n + 1 knows that they have read call n.
class SharedMemory {
 public:
  /// What counts say: the number of the last call, or piece, of which this rank has written what it is about, its
  /// elements, or its share of the result, or that it has read all that it wants of it.
  enum Count { calls, filled, reduced, done };
  static constexpr int64_t kSlots = 4, kPieceBytes = 128 << 10;

  /// @param call_bytes  how long a call is, of which every other rank gets one of its own
  /// @param wanted      without it there is none, and all will know
  SharedMemory(int rank, int size, size_t call_bytes, bool wanted);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;

  static constexpr size_t kContactBytes = 64;
  /// By which the others find this rank's segment: always of kContactBytes.
  std::string contact() const;
  /// Maps the other ranks' segments. False when one cannot be had.
  bool open(const std::vector<std::string>& contacts);
  /// When all ranks have opened all.
  void close_file() { file_.close(); }

  void* call(int rank, int for_rank, uint64_t number) const;
  void* slot(int rank, uint64_t piece) const;
  uint64_t count(int rank, Count what) const;
  /// Of this rank.
  void raise(Count what, uint64_t count);
  /// Whether another rank comes so far while this one waits awake, which is not for long.
  bool comes_soon(int rank, Count what, uint64_t count) const;
  /// Waits, asleep, for another rank to come so far. False when `stop` was set; nudge() has it looked at.
  /// @throws DistributedError when the other has closed its segment or its process has ended, or the deadline is past:
  /// that says kLate
  bool wait(int rank, Count what, uint64_t count, Deadline deadline, const std::atomic<bool>& stop) const;
  /// From any thread: wakes who waits for that rank.
  void nudge(int rank) const;
  /// From any thread: this rank takes part in nothing any more.
  void close();
  static constexpr char kLate[] = "Timed out waiting";

  /// The number of the last piece that was begun.
  uint64_t pieces = 0;

 private:
  class Segment;
  size_t slots_at() const;
  const int rank_, size_;
  const size_t call_bytes_;
  Descriptor file_;
  std::vector<std::shared_ptr<Segment>> segments_;  // by rank
};

}  // namespace tandem::distributed
