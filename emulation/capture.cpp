// Implements stream capture: records the work of capturing streams as nodes of a graph, and refuses calls that CUDA
// refuses during a capture.
#include "tandem/emulation/capture.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "tandem/emulation/state.h"

namespace tandem::emulation {
namespace {

thread_local bool unsafe_calls_allowed = false;

void invalidate(const std::shared_ptr<Capture>& capture) {
  if (capture && !capture->is_ended) capture->is_invalid = true;
}
void check_valid(const char* call, const Capture& capture) {
  if (capture.is_invalid) fail_capture(call, "cudaErrorStreamCaptureInvalidated");
}
/// Returns the index of a stream among the streams of the capture, in the order in which they joined the capture.
size_t stream_index_of(Capture& capture, const gpu::StreamTag& stream) {
  const auto at = std::find_if(capture.streams.begin(), capture.streams.end(),
                               [&](const auto& each) { return each.get() == &stream; });
  return static_cast<size_t>(at - capture.streams.begin());
}
/// Returns, for each node, whether it is in `of` or a node in `of` depends on it, directly or indirectly.
std::vector<bool> find_ancestors(const std::vector<GraphNode>& nodes, const std::vector<size_t>& of) {
  std::vector<bool> reached(nodes.size());
  std::vector<size_t> worklist = of;
  while (!worklist.empty()) {
    const size_t node = worklist.back();
    worklist.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    worklist.insert(worklist.end(), nodes[node].dependencies.begin(), nodes[node].dependencies.end());
  }
  return reached;
}
void mark_ended(Capture& capture) {
  capture.is_ended = true;
  for (const auto& stream : capture.streams) {
    stream->capture = nullptr;
    stream->last_nodes.clear();
  }
  capture.streams.clear();
}

}  // namespace

void fail_capture(const std::string& call, const char* error, const std::string& why) {
  static const auto& words = *new std::map<std::string_view, const char*>{
      {"cudaErrorIllegalState", "the operation cannot be performed in the present state"},
      {"cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
      {"cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
      {"cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
      {"cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
      {"cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
      {"cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
      {"cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
      {"cudaErrorStreamCaptureWrongThread",
       "attempt to terminate a thread-local capture sequence from another thread"}};
  TANDEM_CHECK_AS(CudaError, false, call, " failed: ", words.at(error), " (", error, ")", why.empty() ? "" : "; ", why);
  __builtin_unreachable();
}

void Captures::begin_capture(const std::shared_ptr<gpu::StreamTag>& stream) {
  if (stream->capture) {
    invalidate(stream->capture);
    fail_capture("begin_capture", "cudaErrorIllegalState", "the stream is capturing");
  }
  const auto capture = std::make_shared<Capture>();
  capture->begin_thread_id = std::this_thread::get_id();
  capture->streams.push_back(stream);
  capture->devices.push_back(stream->device);
  stream->capture = capture;
  captures_.push_back(capture);
}
std::unique_ptr<gpu::GraphTag> Captures::end_capture(const std::shared_ptr<gpu::StreamTag>& stream) {
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) fail_capture("end_capture", "cudaErrorIllegalState", "the stream is not capturing");
  if (capture->streams[0] != stream) {
    invalidate(capture);
    fail_capture("end_capture", "cudaErrorStreamCaptureUnmatched");
  }
  if (capture->begin_thread_id != std::this_thread::get_id())
    fail_capture("end_capture", "cudaErrorStreamCaptureWrongThread");
  const std::vector<bool> joined = find_ancestors(capture->nodes, stream->last_nodes);
  std::erase(captures_, capture);
  mark_ended(*capture);
  check_valid("end_capture", *capture);
  const auto loose = std::find(joined.begin(), joined.end(), false);
  if (loose != joined.end())
    fail_capture("end_capture", "cudaErrorStreamCaptureUnjoined",
                 "the first stream does not wait for '" +
                     capture->nodes[static_cast<size_t>(loose - joined.begin())].item.name + "'");
  return std::make_unique<gpu::GraphTag>(gpu::GraphTag{capture->devices, std::move(capture->nodes), {}});
}

std::vector<size_t> Captures::record_event(const gpu::StreamTag& stream) {
  check_valid("record_event", *stream.capture);
  return stream.last_nodes;
}
void Captures::wait_for_nodes(const std::shared_ptr<gpu::StreamTag>& stream, const std::shared_ptr<Capture>& capture,
                              const std::vector<size_t>& nodes) {
  if (!capture) {
    invalidate(stream->capture);
    fail_capture("wait_event", "cudaErrorStreamCaptureIsolation");
  }
  if (stream->capture) check_valid("wait_event", *stream->capture);
  if (capture->is_ended) {
    invalidate(stream->capture);
    fail_capture("wait_event", "cudaErrorCapturedEvent", "that capture is over");
  }
  check_valid("wait_event", *capture);
  if (stream->capture && stream->capture != capture) {
    invalidate(stream->capture);
    invalidate(capture);
    fail_capture("wait_event", "cudaErrorStreamCaptureMerge");
  }
  if (!stream->capture) {
    stream->capture = capture;
    capture->streams.push_back(stream);
    capture->devices.push_back(stream->device);
  }
  for (const size_t node : nodes)
    if (std::find(stream->last_nodes.begin(), stream->last_nodes.end(), node) == stream->last_nodes.end())
      stream->last_nodes.push_back(node);
}

void Captures::reject_if_capturing(const char* call, const gpu::StreamTag& stream) {
  if (!stream.capture) return;
  invalidate(stream.capture);
  fail_capture(call, "cudaErrorStreamCaptureUnsupported");
}
void Captures::reject_if_device_capturing(const char* call, int device) {
  bool any = false;
  for (const auto& capture : captures_) {
    if (std::find(capture->devices.begin(), capture->devices.end(), device) == capture->devices.end()) continue;
    invalidate(capture);
    any = true;
  }
  if (any)
    fail_capture(call, "cudaErrorStreamCaptureUnsupported",
                 "a stream of cuda:" + std::to_string(device) + " is capturing");
}
void Captures::reject_captured_event(const char* call, const std::shared_ptr<Capture>& capture) {
  if (!capture) return;
  invalidate(capture);
  fail_capture(call, "cudaErrorCapturedEvent");
}
std::string Captures::unsafe_call_reason(const char* call) {
  if (unsafe_calls_allowed) return {};
  std::string why;
  for (const auto& capture : captures_) {
    if (capture->begin_thread_id != std::this_thread::get_id()) continue;
    invalidate(capture);
    why = std::string(call) + " may wait, and this thread has begun a capture";
  }
  return why;
}
void Captures::reject_unsafe_call(const char* call) {
  const std::string why = unsafe_call_reason(call);
  if (!why.empty()) fail_capture(call, "cudaErrorStreamCaptureUnsupported", why);
}
void Captures::clear_captures() {
  for (const auto& capture : captures_) mark_ended(*capture);
  captures_.clear();
}

void capture_item(gpu::StreamTag& stream, WorkItem item) {
  Capture& capture = *stream.capture;
  check_valid(item.name.c_str(), capture);
  if (item.arrival || item.awaited_event) {
    invalidate(stream.capture);
    fail_capture(item.name, "cudaErrorStreamCaptureUnsupported",
                 "the emulation cannot capture work that spans several streams");
  }
  const size_t lane = stream_index_of(capture, stream);
  capture.nodes.push_back({std::move(item), lane, std::move(stream.last_nodes)});
  stream.last_nodes = {capture.nodes.size() - 1};
}

void launch_captured(Streams& streams, gpu::GraphTag& graph, const std::shared_ptr<gpu::StreamTag>& stream) {
  std::vector<std::shared_ptr<gpu::StreamTag>> lanes;
  const auto start = std::make_shared<SyncEvent>();
  streams.enqueue_item(stream, {.name = "start of a graph", .arrival = start});
  for (const int device : graph.devices) {
    lanes.push_back(streams.find_stream(streams.create_stream(device), "launch_graph"));
    streams.enqueue_item(lanes.back(), {.name = "start of a graph", .awaited_event = start});
    for (const auto& end : graph.last_launch_events)
      streams.enqueue_item(lanes.back(), {.name = "last launch of a graph", .awaited_event = end});
  }
  // Each captured stream runs on a new stream (`lanes`). If a node depends on a node of another stream, it waits for a
  // SyncEvent of that node.
  std::vector<std::shared_ptr<SyncEvent>> sync_events(graph.nodes.size());
  for (const GraphNode& node : graph.nodes)
    for (const size_t before : node.dependencies)
      if (graph.nodes[before].stream_index != node.stream_index && !sync_events[before])
        sync_events[before] = std::make_shared<SyncEvent>();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const auto& lane = lanes[node.stream_index];
    for (const size_t before : node.dependencies)
      if (graph.nodes[before].stream_index != node.stream_index)
        streams.enqueue_item(lane, {.name = "wait in a graph", .awaited_event = sync_events[before]});
    streams.enqueue_item(lane, node.item);
    if (sync_events[i]) streams.enqueue_item(lane, {.name = "mark in a graph", .arrival = sync_events[i]});
  }
  graph.last_launch_events.clear();
  for (const auto& lane : lanes) {
    graph.last_launch_events.push_back(std::make_shared<SyncEvent>());
    streams.enqueue_item(lane, {.name = "end of a graph", .arrival = graph.last_launch_events.back()});
    streams.enqueue_item(stream, {.name = "end of a graph", .awaited_event = graph.last_launch_events.back()});
    streams.destroy_stream(lane.get());
  }
}

}  // namespace tandem::emulation

// ---- the functions of core/cuda/gpu_runtime.h

namespace tandem::detail::gpu {

using namespace emulation;  // NOLINT(google-build-using-namespace): this file implements the emulation

void begin_capture(StreamHandle handle) {
  begin_call("begin_capture");
  const std::lock_guard lock(state().mutex);
  if (!handle)
    fail_capture("begin_capture", "cudaErrorStreamCaptureUnsupported", "the legacy default stream cannot be captured");
  const auto stream = state().streams.find_stream(handle, "begin_capture");
  check_device_usable("begin_capture", stream->device);
  state().captures.begin_capture(stream);
}
GraphHandle end_capture(StreamHandle handle) {
  std::unique_ptr<GraphTag> graph;
  {
    const std::lock_guard lock(state().mutex);
    graph = state().captures.end_capture(state().streams.find_stream(handle, "end_capture"));
  }
  begin_call("end_capture");  // called last, because the capture must end even if begin_call() throws
  return graph.release();
}
bool is_capturing(StreamHandle handle) {
  begin_call("is_capturing");
  const std::lock_guard lock(state().mutex);
  return state().streams.find_stream(handle, "is_capturing")->capture != nullptr;
}
void launch_graph(GraphHandle graph, StreamHandle handle) {
  begin_call("launch_graph");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "launch_graph");
  Captures::reject_if_capturing("launch_graph", *stream);
  for (const int device : graph->devices) check_device_usable("launch_graph", device);
  launch_captured(state().streams, *graph, stream);
  state().streams.run_random_items(lock);
}
void destroy_graph(GraphHandle graph) noexcept {
  const std::lock_guard lock(state().mutex);
  delete graph;
}

bool allow_unsafe_calls(bool allowed) noexcept { return std::exchange(emulation::unsafe_calls_allowed, allowed); }

}  // namespace tandem::detail::gpu
