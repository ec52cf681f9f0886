// SharedMemory: memory that the ranks of a group share if all of them run on one machine. Internal; compiled only in
// builds with Gloo.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

// Note [Shared memory]
// Every rank has a segment of anonymous memory, which only this rank writes: its calls, chunks of tensors, and counts
// of its progress. The other ranks map it through /proc, so it has no name that could be left behind. A random token
// shows whether a mapping is the right one. If a rank cannot map a segment, it tells the others, and all use Gloo.
//
// Counts only grow. A rank raises a count after it has written the data that the count announces. A rank that waits for
// a count polls it for a while and then sleeps on the segment's `events`, a futex. The writer raises its count, then
// increments `events`, then looks for sleepers. The waiter reads `events`, then the count, then registers as a sleeper;
// the kernel compares `events` once more before it sleeps.
//
// A slot holds a chunk of a tensor. Chunks are numbered consecutively, equally on all ranks. Chunk n uses slot n %
// kSlots once all other ranks are done with chunk n - kSlots. There is memory for two calls; call n uses half n % 2. A
// rank that has seen call n + 1 of all others knows that they have read call n.
class SharedMemory {
 public:
  /// Counters by which a rank publishes its progress. The value of each is the number of a call or of a chunk. calls:
  /// the last call that the rank has written. filled: the last chunk whose elements it has written. reduced: the last
  /// chunk for which it has written its shard of the result. done: the last chunk that it has finished reading.
  enum ProgressCounter { calls, filled, reduced, done };
  static constexpr int64_t kSlots = 4, kChunkBytes = 128 << 10;

  /// @param header_bytes  size of the header of a call; for each call a rank writes one header to every other rank
  /// @param enabled     if false, this rank has no segment, and segment_address() tells the other ranks so
  SharedMemory(int rank, int size, size_t header_bytes, bool enabled);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;

  static constexpr size_t kSegmentAddressBytes = 64;
  /// Returns kSegmentAddressBytes bytes, from which the other ranks find this rank's segment.
  std::string segment_address() const;
  /// Maps the segments of all other ranks. Returns false if a segment cannot be mapped.
  bool map_segments(const std::vector<std::string>& contacts);
  /// Closes the file of this rank's segment. Call this once all ranks have mapped all segments.
  void close_file() { file_.close(); }

  void* call_header(int rank, int for_rank, uint64_t number) const;
  void* slot(int rank, uint64_t chunk) const;
  uint64_t read_counter(int rank, ProgressCounter what) const;
  /// Raises this rank's counter `what` to `count`.
  void set_counter(ProgressCounter what, uint64_t count);
  /// Polls the counter `what` of another rank for a short time. Returns whether it has reached `count`.
  bool poll_briefly(int rank, ProgressCounter what, uint64_t count) const;
  /// Sleeps until the counter `what` of another rank reaches `count`. Returns false if `stop` is set; the thread that
  /// sets it must then call wake_waiters().
  /// @throws DistributedError if the other rank has closed its segment, if its process has ended, or if the deadline
  /// has passed (then with the message kTimedOutMessage)
  bool wait(int rank, ProgressCounter what, uint64_t count, Deadline deadline, const std::atomic<bool>& stop) const;
  /// Wakes all ranks that wait for a counter of `rank`. May be called from any thread.
  void wake_waiters(int rank) const;
  /// Declares that this rank takes no part in later calls. May be called from any thread.
  void close();
  static constexpr char kTimedOutMessage[] = "Timed out waiting";

  /// Number of tensor chunks in all calls so far, including calls in progress. See Note [Shared memory].
  uint64_t num_reserved_chunks = 0;

 private:
  class Segment;
  size_t chunk_slots_offset() const;
  const int rank_, size_;
  const size_t header_bytes_;
  Descriptor file_;
  std::vector<std::shared_ptr<Segment>> segments_;  // one segment for each rank
};

}  // namespace tandem::distributed
