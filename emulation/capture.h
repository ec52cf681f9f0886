// Stream capture of the emulated devices: work that is put on a capturing stream becomes a node of a graph, and runs
// when the graph is launched. Calls that CUDA refuses during a capture fail with CUDA's error, and invalidate the
// capture. All functions are called with the runtime's lock held.
#pragma once
#include <memory>
#include <thread>
#include <vector>

#include "tandem/emulation/streams.h"

namespace tandem {
namespace emulation {

/// Work that depends on other nodes. A lane is a stream of the capture; the nodes of a lane run one after another.
struct GraphNode {
  Item item;
  size_t lane;
  std::vector<size_t> after;
};
/// A capture in progress, or one that is over but still referenced by events.
struct Capture {
  std::thread::id thread;
  std::vector<std::shared_ptr<gpu::StreamTag>> streams;  // streams that take part; the capture began on the first
  std::vector<int> devices;                              // devices of the lanes
  std::vector<GraphNode> nodes;
  bool over = false, invalid = false;
};

/// All captures in progress, and the rules for calls during a capture.
class Captures {
 public:
  /// @throws CudaError if the stream is already capturing
  void begin(const std::shared_ptr<gpu::StreamTag>& stream);
  /// Ends the capture. @throws CudaError unless the capture is valid, began on this stream and this thread, and this
  /// stream waits for all its work
  std::unique_ptr<gpu::GraphTag> end(const std::shared_ptr<gpu::StreamTag>& stream);
  /// Returns the nodes that an event records. @throws CudaError if the capture is invalid
  static std::vector<size_t> record(const gpu::StreamTag& stream);
  /// Makes the stream wait for nodes of a capture. A stream that is in no capture joins this one. @throws CudaError if
  /// the stream is in another capture, or if `capture` is null, invalid or over
  void wait(const std::shared_ptr<gpu::StreamTag>& stream, const std::shared_ptr<Capture>& capture,
            const std::vector<size_t>& nodes);
  /// Refuses a call that is not allowed on a capturing stream. @throws CudaError if the stream is capturing
  static void refuse(const char* call, const gpu::StreamTag& stream);
  /// Refuses a call that is not allowed on a device with a capturing stream. @throws CudaError if the device has one
  void refuse_device(const char* call, int device);
  /// Refuses a call that is not allowed on a captured event. @throws CudaError if `capture`, in which the event was
  /// last recorded, is not null
  static void refuse_event(const char* call, const std::shared_ptr<Capture>& capture);
  /// Checks a call that may wait: if this thread has begun a capture, the capture becomes invalid. @return why the call
  /// is refused, or an empty string
  std::string unsafe(const char* call);
  void refuse_unsafe(const char* call);
  /// Ends and forgets all captures.
  void clear();

 private:
  std::vector<std::shared_ptr<Capture>> all_;
};

/// Throws a CudaError with CUDA's message for a capture error, and `why` as the details.
[[noreturn]] void fail_capture(const std::string& call, const char* error, const std::string& why = "");
/// Adds work to the capture of a stream. @throws CudaError if the work cannot be captured
void capture_item(gpu::StreamTag& stream, Item item);
/// Queues all nodes of the graph on new streams, one for each lane. They run in the order of `stream`, and after the
/// last launch of the graph.
void launch_captured(Streams& streams, gpu::GraphTag& graph, const std::shared_ptr<gpu::StreamTag>& stream);

}  // namespace emulation

namespace detail::gpu {
struct GraphTag {
  std::vector<int> devices;  // devices of the lanes
  std::vector<emulation::GraphNode> nodes;
  std::vector<std::shared_ptr<emulation::Mark>> last;  // marks at the ends of the last launch
};
}  // namespace detail::gpu
}  // namespace tandem
