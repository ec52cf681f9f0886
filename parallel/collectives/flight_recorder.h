// The flight record: what a rank's groups have called last, in memory of a fixed size. When a group fails, each rank
// writes it to a file, and `tandem flight` finds out from all of these who was missing where. Internal.
#pragma once
#include <array>
#include <mutex>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// The last calls of one group. Methods may be called from any thread.
class FlightRecorder {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int64_t kCalls = 1000;
  struct Group {
    std::string id;  // the same on the group's ranks, and of no other group of the job: "0", "0/1.2"
    std::string name, backend;
    std::vector<int> ranks;  // of the default group
    int rank = 0;            // this one, among these
    std::chrono::milliseconds timeout{0};
  };

  explicit FlightRecorder(Group group) : group_(std::move(group)) {}
  /// Returns the number by which started() and done() name the call.
  [[gnu::noinline]] int64_t queued(const Call& call, int tag);
  void started(int64_t call, Time at);
  /// The host is done with it. `begin` and `end` are those of CUDA tensors, which the GPU may not have reached.
  void done(int64_t call, Time at, bool failed, const cuda::Event& begin, const cuda::Event& end);
  /// The group and the last of its calls, at most so many, the oldest first, as JSON. Waits for no GPU.
  [[gnu::cold]] void append_json(std::string& out, int64_t most = kCalls) const;

 private:
  struct Entry {
    int64_t number, sequence, numel;
    const char *name, *file;
    Time queued, started, done;  // Time() of what has not been yet
    int line, other, tag;
    DType dtype;
    ReduceOp op;
    bool reduces, failed, cuda;
    detail::Shape shape;
    std::array<char, 128> about;  // cut there
    cuda::Event begin, end;       // of CUDA tensors that the host is done with
  };
  [[gnu::cold]] static void append_entry(std::string& out, const Entry& entry);
  Entry* find(int64_t call);
  const Group group_;
  mutable std::mutex mutex_;
  int64_t calls_ = 0;
  std::unique_ptr<Entry[]> ring_;  // from the first call on; call n is at n % kCalls
};

/// What one rank records of all its groups, from init_process_group on.
class FlightLog {
 public:
  /// @param folder  where the record is written when a group fails; "": the value of TANDEM_FLIGHT_DIR, and nowhere if
  ///                that is not set. It is made if it is not there; what an earlier job has left in it of this rank is
  ///                removed
  [[gnu::cold]] FlightLog(int rank, int size, const std::string& folder = {});
  [[gnu::cold]] std::shared_ptr<FlightRecorder> add(FlightRecorder::Group group);
  /// A group has failed: the first time, the record is written if a folder is known. It takes no longer than two
  /// seconds, whatever the disk does, and says on the standard error what went wrong with it.
  [[gnu::cold]] void failed(const std::string& why) noexcept;
  /// The rank leaves the default group. Unless there is a record already, a short one is written likewise, so that a
  /// rank for which the others wait in vain afterwards is known to have ended.
  [[gnu::cold]] void left() noexcept;
  /// Writes the record now. Returns the file's path. @throws Error when there is no folder, or it cannot be written
  [[gnu::cold]] std::string write(const std::string& folder, const std::string& why);

 private:
  [[gnu::cold]] void write_once(const std::string& why, bool has_left) noexcept;
  std::string path_in(const std::string& folder) const;
  [[gnu::cold]] std::string json(const std::string& why, bool has_left) const;
  const int rank_, size_;
  const std::string folder_;
  std::mutex writing_;  // who comes second waits until the file is there
  bool is_written_ = false, was_asked_for_ = false;
  mutable std::mutex mutex_;  // guards the next
  std::vector<std::weak_ptr<FlightRecorder>> groups_;
};

}  // namespace tandem::distributed
