// Stream capture of the emulated devices: what is put on a capturing stream becomes a node of a graph, and is run by
// the graph's launches. What CUDA refuses meanwhile is refused in its words, and invalidates the capture. Every
// function is called with the runtime's lock held.
#pragma once
#include <memory>
#include <thread>
#include <vector>

#include "tandem/emulation/streams.h"

namespace tandem {
namespace emulation {

/// Work that comes after other nodes. Those of one lane, a stream of the capture, come one after another.
struct GraphNode {
  Item item;
  size_t lane;
  std::vector<size_t> after;
};
/// A capture under way or over, which events refer to.
struct Capture {
  std::thread::id thread;
  std::vector<std::shared_ptr<gpu::StreamTag>> streams;  // that take part; the first is where it began
  std::vector<int> devices;                              // of the lanes
  std::vector<GraphNode> nodes;
  bool over = false, invalid = false;
};

/// All captures under way, and what the rules say of calls meanwhile.
class Captures {
 public:
  /// @throws CudaError when the stream is capturing, or null
  void begin(const std::shared_ptr<gpu::StreamTag>& stream);
  /// @throws CudaError unless it ends a valid capture on its stream and thread
  std::unique_ptr<gpu::GraphTag> end(const std::shared_ptr<gpu::StreamTag>& stream);
  /// The nodes that an event records. @throws CudaError in an invalidated capture
  static std::vector<size_t> record(const gpu::StreamTag& stream);
  /// The stream waits for nodes of a capture, its own or, if it is in none, the one that it joins by this.
  void wait(const std::shared_ptr<gpu::StreamTag>& stream, const std::shared_ptr<Capture>& capture,
            const std::vector<size_t>& nodes);
  /// What must not be done with a stream that is capturing. @throws CudaError if it is
  static void refuse(const char* call, const gpu::StreamTag& stream);
  /// Nor with a device that has one.
  void refuse_device(const char* call, int device);
  /// Nor with an event that a capture recorded last; null: none did.
  static void refuse_event(const char* call, const std::shared_ptr<Capture>& capture);
  /// What may wait, on a thread that has begun a capture: it is invalidated. @return why it is refused, or nothing
  std::string unsafe(const char* call);
  void refuse_unsafe(const char* call);
  /// Drops them all.
  void clear();

 private:
  std::vector<std::shared_ptr<Capture>> all_;
};

/// CUDA's words for an error of captures; `why` says more.
[[noreturn]] void fail_capture(const std::string& call, const char* error, const std::string& why = "");
/// Puts work on a stream that is capturing. @throws CudaError for what cannot be captured
void capture_item(gpu::StreamTag& stream, Item item);
/// Puts all nodes on streams of their own, in the order of `stream` and after the last launch.
void launch_captured(Streams& streams, gpu::GraphTag& graph, const std::shared_ptr<gpu::StreamTag>& stream);

}  // namespace emulation

namespace detail::gpu {
struct GraphTag {
  std::vector<int> devices;  // of the lanes
  std::vector<emulation::GraphNode> nodes;
  std::vector<std::shared_ptr<emulation::Mark>> last;  // ends of the last launch
};
}  // namespace detail::gpu
}  // namespace tandem
