// Implements CallTree.
#include "tandem/tools/trace/call_tree.h"

#include <algorithm>
#include <limits>

namespace tandem::tools::trace {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

Frame::Kind frame_kind(const Event& event) {
  if (event.kind == "kernel") return Frame::Kind::kernel;
  if (event.kind == "module") return Frame::Kind::module;
  if (event.kind == "phase") return Frame::Kind::phase;
  if (event.kind == "span") return Frame::Kind::span;
  return Frame::Kind::operation;  // an operation, a collective, or a copy between devices
}
std::string frame_name(const Event& event) { return event.kind == "transfer" ? "copy between devices" : event.name; }

/// Sorts the events of a thread, so that each event comes before the events that it contains. A trace lists events with
/// the same start in the order in which they ended.
void sort_outer_first(std::vector<const Event*>& events) {
  std::reverse(events.begin(), events.end());
  std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
    return a->start != b->start ? a->start < b->start : a->end > b->end;
  });
}

/// Returns the tensors that the first kernel in an operation reads. `at` is the operation's position in sorted events.
std::string first_reads(const std::vector<const Event*>& events, size_t at) {
  for (size_t i = at; i < events.size() && events[i]->start <= events[at]->end; ++i)
    if (events[i]->kind == "kernel") return events[i]->reads;
  return "";
}

/// Returns the frame, below `from`, that collects the backward nodes of the module with this path. Adds `time` to this
/// frame and to the frames of the modules that contain the module.
Frame& enter_backward_of_module(Frame& from, const std::string& path, int64_t time) {
  Frame* frame = &from;
  for (size_t dot = path.find('.');; dot = path.find('.', dot + 1)) {
    frame = &frame->get_or_add_child(Frame::Kind::module, path.substr(0, dot), "", /*backward=*/true);
    frame->total_time += time;
    if (dot == std::string::npos) return *frame;
  }
}

}  // namespace

int64_t Frame::self_time() const {
  int64_t time = total_time;
  for (const auto& each : children) time -= each->total_time;
  return time;
}
int64_t Frame::gpu_total_time() const {
  int64_t time = gpu_time;
  for (const auto& each : children) time += each->gpu_total_time();
  return time;
}
Frame& Frame::get_or_add_child(Kind its_kind, const std::string& its_name, const std::string& its_shapes,
                               bool its_backward) {
  Frame*& found = children_by_key_[{its_kind, its_name, its_shapes, its_backward}];
  if (!found) {
    children.push_back(std::make_unique<Frame>());
    found = children.back().get();
    found->kind = its_kind, found->name = its_name, found->shapes = its_shapes, found->backward = its_backward;
    found->parent = this;
  }
  return *found;
}

CallTree::CallTree(const std::vector<Event>& events, bool with_shapes) {
  root_.name = "all";
  std::map<int, std::map<int, std::vector<const Event*>>> by_thread;  // by process and thread
  std::vector<const Event*> works;
  for (const Event& event : events)
    if (event.stream > 0)
      works.push_back(&event);
    else if (event.kind != "gradient")  // an instant
      by_thread[event.process][event.thread].push_back(&event);
  for (auto& [process, threads] : by_thread) {
    Frame& frame = root_.get_or_add_child(
        Frame::Kind::process, (process < kFirstOtherProcessId ? "rank " : "process ") + std::to_string(process));
    covered_intervals_.clear();
    for (auto& [thread, theirs] : threads) {
      sort_outer_first(theirs);
      add_thread(frame.get_or_add_child(Frame::Kind::thread, "thread " + std::to_string(thread)), theirs, with_shapes);
    }
    for (const auto& each : frame.children) frame.total_time += each->total_time;
    root_.total_time += frame.total_time;
    num_threads_ += threads.size();
    measure_wall();
  }
  add_gpu_times(works);
}

void CallTree::add_thread(Frame& thread, const std::vector<const Event*>& events, bool with_shapes) {
  struct OpenFrame {
    Frame* frame;
    int64_t end;
  };
  std::vector<OpenFrame> open{{&thread, kForever}};
  int64_t last = events[0]->end;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = *events[i];
    while (open.back().end < event.start || (open.back().end == event.start && event.end > event.start))
      open.pop_back();
    // Rounded times may exceed those of the enclosing event.
    const int64_t end = std::min(event.end, open.back().end), time = end - event.start;
    last = std::max(last, end);
    if (open.size() == 1) covered_intervals_.emplace_back(event.start, end);
    Frame* above = open.back().frame;
    if (!event.module.empty()) above = &enter_backward_of_module(*above, event.module, time);
    const Frame::Kind kind = frame_kind(event);
    const bool tell_shapes = with_shapes && (kind == Frame::Kind::operation || kind == Frame::Kind::kernel);
    Frame& frame = above->get_or_add_child(kind, frame_name(event), tell_shapes ? first_reads(events, i) : "");
    ++frame.num_calls;
    frame.total_time += time;
    frame.bytes += event.bytes;
    frame.flops += estimate_flops(event);
    if (event.correlation_id > 0) frames_by_launch_[{event.process, event.correlation_id}] = &frame;
    open.push_back({&frame, end});
  }
  thread.total_time = last - events[0]->start;
}

void CallTree::measure_wall() {
  std::sort(covered_intervals_.begin(), covered_intervals_.end());
  int64_t until = covered_intervals_[0].first;
  for (const auto& [start, end] : covered_intervals_) {
    uncovered_time_ += std::max<int64_t>(0, start - until);
    until = std::max(until, end);
  }
  wall_time_ += until - covered_intervals_[0].first;
}

void CallTree::add_gpu_times(const std::vector<const Event*>& works) {
  for (const Event* const work : works) {
    const auto launch = frames_by_launch_.find({work->process, work->correlation_id});
    Frame& frame =
        launch != frames_by_launch_.end() ? *launch->second : root_.get_or_add_child(Frame::Kind::kernel, work->name);
    if (launch == frames_by_launch_.end()) ++frame.num_calls;  // the trace lacks the host's launch of this kernel
    frame.gpu_time += work->end - work->start;
  }
}

}  // namespace tandem::tools::trace
