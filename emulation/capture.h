// Stream capture of the emulated devices: work that is queued on a capturing stream becomes a node of a graph, and runs
// when the graph is launched. Calls that CUDA refuses during a capture fail with CUDA's error, and invalidate the
// capture. All functions are called with the runtime's lock held.
#pragma once
#include <memory>
#include <thread>
#include <vector>

#include "tandem/emulation/streams.h"

namespace tandem {
namespace emulation {

/// A node of a graph: work, and the nodes on which it depends. `stream_index` is the index, among the streams of the
/// capture, of the stream on which the node was captured. The nodes of a stream run one after another.
struct GraphNode {
  WorkItem item;
  size_t stream_index;
  std::vector<size_t> dependencies;
};
/// A capture in progress, or a capture that is over while events still refer to it.
struct Capture {
  std::thread::id begin_thread_id;
  std::vector<std::shared_ptr<gpu::StreamTag>> streams;  // streams in the capture; the capture began on the first
  std::vector<int> devices;                              // device of each stream
  std::vector<GraphNode> nodes;
  bool is_ended = false, is_invalid = false;
};

/// All captures in progress, and the rules for calls during a capture.
class Captures {
 public:
  /// Starts a capture on the stream. @throws CudaError if the stream is already capturing
  void begin_capture(const std::shared_ptr<gpu::StreamTag>& stream);
  /// Ends the capture, and returns its graph. @throws CudaError if the stream is not capturing, if the capture is
  /// invalid or did not begin on this stream and this thread, or if the stream has not joined all captured work
  std::unique_ptr<gpu::GraphTag> end_capture(const std::shared_ptr<gpu::StreamTag>& stream);
  /// Returns the nodes that an event recorded now on the stream depends on. @throws CudaError if the capture is invalid
  static std::vector<size_t> record_event(const gpu::StreamTag& stream);
  /// Makes the stream wait for nodes of a capture. A stream that is in no capture joins `capture`. @throws CudaError if
  /// the stream is in another capture, or if `capture` is null, invalid or over
  void wait_for_nodes(const std::shared_ptr<gpu::StreamTag>& stream, const std::shared_ptr<Capture>& capture,
                      const std::vector<size_t>& nodes);
  /// Checks a call that is not allowed on a capturing stream. @throws CudaError if the stream is capturing
  static void reject_if_capturing(const char* call, const gpu::StreamTag& stream);
  /// Checks a call that is not allowed on a device with a capturing stream. @throws CudaError if a stream of the device
  /// is capturing
  void reject_if_device_capturing(const char* call, int device);
  /// Checks a call that is not allowed on a captured event. @throws CudaError if `capture`, in which the event was last
  /// recorded, is not null
  static void reject_captured_event(const char* call, const std::shared_ptr<Capture>& capture);
  /// Checks a call that may synchronize with the device, which CUDA does not allow during a capture. If this thread has
  /// begun a capture, the capture becomes invalid, unless the thread allows such calls (gpu::allow_unsafe_calls).
  /// @return the reason why the call is refused, or an empty string
  std::string unsafe_call_reason(const char* call);
  void reject_unsafe_call(const char* call);
  /// Ends and forgets all captures.
  void clear_captures();

 private:
  std::vector<std::shared_ptr<Capture>> captures_;
};

/// Throws a CudaError with the name of CUDA's error, `error`, and the details `why`.
[[noreturn]] void fail_capture(const std::string& call, const char* error, const std::string& why = "");
/// Adds work to the capture of a stream. @throws CudaError if the work cannot be captured
void capture_item(gpu::StreamTag& stream, WorkItem item);
/// Queues all nodes of the graph on new streams, one for each captured stream. They run after the work queued on
/// `stream` and after the previous launch of the graph, and later work on `stream` runs after them.
void launch_captured(Streams& streams, gpu::GraphTag& graph, const std::shared_ptr<gpu::StreamTag>& stream);

}  // namespace emulation

namespace detail::gpu {
struct GraphTag {
  std::vector<int> devices;  // device of each stream
  std::vector<emulation::GraphNode> nodes;
  // events that complete when the latest launch of the graph has ended
  std::vector<std::shared_ptr<emulation::SyncEvent>> last_launch_events;
};
}  // namespace detail::gpu
}  // namespace tandem
