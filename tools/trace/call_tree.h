// CallTree: nests the events of a trace by their times, and merges calls with the same stack.
#pragma once
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "tandem/tools/trace/event.h"

namespace tandem::tools::trace {

/// All calls with the same stack, such as rank 0 > thread 0 > backward > Net > Net.conv1 > conv2d backward. Times are
/// in nanoseconds and summed over the calls; the total contains the totals of the children.
struct Frame {
  enum class Kind : int8_t { root, process, thread, span, phase, module, operation, kernel };
  Kind kind = Kind::root;
  std::string name;
  std::string shapes;  // tensors that the operation's first kernel reads; "" unless the tree separates calls by shapes
  /// For a module: whether the frame collects the backward nodes that the module's forward recorded, instead of calls
  /// of forward.
  bool backward = false;
  const Frame* parent = nullptr;
  int64_t num_calls = 0, total_time = 0;
  int64_t gpu_time = 0;  // GPU time of this frame's own kernels, without the frame's children
  int64_t bytes = 0;
  double flops = 0;
  std::vector<std::unique_ptr<Frame>> children;  // in the order of their first calls

  /// Time of this frame that is not spent in any of its children.
  int64_t self_time() const;
  /// GPU time of this frame, its children included.
  int64_t gpu_total_time() const;
  /// Returns the child with this kind, name, shapes and `backward`. Creates it if it does not exist.
  Frame& get_or_add_child(Kind kind, const std::string& name, const std::string& shapes = "", bool backward = false);

 private:
  std::map<std::tuple<Kind, std::string, std::string, bool>, Frame*> children_by_key_;
};

class CallTree {
 public:
  /// @param with_shapes  whether calls of an operation with other input shapes get a frame of their own
  explicit CallTree(const std::vector<Event>& events, bool with_shapes = false);
  /// Returns the root. It has a child for each process, and each of these has a child for each thread.
  const Frame& root() const { return root_; }
  /// Time from the first to the last event of a process, summed over the processes, in nanoseconds.
  int64_t wall_time() const { return wall_time_; }
  /// Part of wall_time() in which no thread of the process was inside an event, so that the trace does not tell what it
  /// did.
  int64_t uncovered_time() const { return uncovered_time_; }
  size_t num_threads() const { return num_threads_; }

 private:
  void add_thread(Frame& thread, const std::vector<const Event*>& events, bool with_shapes);
  void add_gpu_times(const std::vector<const Event*>& works);
  void measure_wall();

  Frame root_;
  int64_t wall_time_ = 0, uncovered_time_ = 0;
  size_t num_threads_ = 0;
  std::vector<std::pair<int64_t, int64_t>> covered_intervals_;  // start and end of each outermost event of one process
  std::map<std::pair<int, int64_t>, Frame*> frames_by_launch_;  // frames of kernels by process and correlation ID
};

}  // namespace tandem::tools::trace
