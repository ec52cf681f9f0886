// FlightRecorder: keeps the last calls of a rank's groups in memory of a fixed size. When a group fails, each rank
// writes its record to a file, and `tandem flight` finds from all files which rank was missing in which call. Internal.
#pragma once
#include <array>
#include <mutex>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// Records the last calls of one group. Methods may be called from any thread.
class FlightRecorder {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int64_t kMaxRecordedCalls = 1000;
  struct GroupInfo {
    std::string id;  // such as "0" or "0/1.2": the same on all ranks of the group, and unique in the job
    std::string name, backend;
    std::vector<int> ranks;  // the members' ranks in the default group, by rank in this group
    int rank = 0;            // rank of this process in the group
    std::chrono::milliseconds timeout{0};
  };

  explicit FlightRecorder(GroupInfo group) : group_(std::move(group)) {}
  /// Records a call that enters the queue. Returns the number of the call, to be passed to record_started() and
  /// record_done().
  [[gnu::noinline]] int64_t record_queued(const CollectiveCall& call, int tag);
  void record_started(int64_t call, Time at);
  /// Records that the host is done with a call. For CUDA tensors, `begin` and `end` are events around the operation,
  /// which the GPU may not have reached yet.
  void record_done(int64_t call, Time at, bool failed, const cuda::Event& begin, const cuda::Event& end);
  /// Appends JSON for the group and its last calls, oldest first. There are at most `max_calls` calls. Does not wait
  /// for a GPU.
  [[gnu::cold]] void append_json(std::string& out, int64_t max_calls = kMaxRecordedCalls) const;

 private:
  struct Entry {
    int64_t call_number, sequence_number, numel;
    const char *name, *file;
    Time queued_time, started_time, done_time;  // Time() if the call has not reached that stage
    int line, root_or_peer, tag;
    DType dtype;
    ReduceOp op;
    bool is_reduction, has_failed, is_cuda;
    detail::Shape shape;
    std::array<char, 128> about;  // truncated to 127 bytes
    cuda::Event begin_event,
        end_event;  // for CUDA tensors: events around the operation, set once the host is done with the call
  };
  [[gnu::cold]] static void append_entry(std::string& out, const Entry& entry);
  Entry* find_entry(int64_t call);
  const GroupInfo group_;
  mutable std::mutex mutex_;
  int64_t num_recorded_calls_ = 0;
  std::unique_ptr<Entry[]>
      ring_buffer_;  // allocated by the first call; entry of call n is at index n % kMaxRecordedCalls
};

/// Flight records of all groups of one rank, from init_process_group on.
class FlightLog {
 public:
  /// @param folder  folder in which the record is written when a group fails. If empty, the value of TANDEM_FLIGHT_DIR;
  ///                if that is not set, no record is written. The folder is created if it does not exist, and this
  ///                rank's record of an earlier job is removed
  [[gnu::cold]] FlightLog(int rank, int size, const std::string& folder = {});
  [[gnu::cold]] std::shared_ptr<FlightRecorder> add_group(FlightRecorder::GroupInfo group);
  /// Reports that a group has failed. The first report writes the record, if a folder is known. Takes at most two
  /// seconds, even if the disk hangs. Errors are printed to standard error.
  [[gnu::cold]] void record_failure(const std::string& why) noexcept;
  /// Reports that the rank leaves the default group. If no record has been written, writes a short one: if other ranks
  /// wait for this rank later, it shows them that this rank has ended.
  [[gnu::cold]] void record_leave() noexcept;
  /// Writes the record now. Returns the path of the file. @throws Error if there is no folder, or if the file cannot be
  /// written
  [[gnu::cold]] std::string write_record(const std::string& folder, const std::string& why);

 private:
  [[gnu::cold]] void write_once(const std::string& why, bool has_left) noexcept;
  std::string record_path_in(const std::string& folder) const;
  [[gnu::cold]] std::string to_json(const std::string& why, bool has_left) const;
  const int rank_, size_;
  const std::string folder_;
  std::mutex write_mutex_;  // held while the file is written, so that a second writer waits until the file is complete
  bool is_written_ = false, was_requested_ = false;
  mutable std::mutex mutex_;  // guards groups_
  std::vector<std::weak_ptr<FlightRecorder>> groups_;
};

}  // namespace tandem::distributed
