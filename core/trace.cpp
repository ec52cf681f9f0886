#include "tandem/core/trace.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

#include "tandem/core/tensor.h"
#include "tandem/core/tracer.h"

namespace tandem {
namespace {

thread_local const char* phase_of_thread = nullptr;

int thread_number() {
  static std::atomic<int> next{0};
  thread_local const int mine = next++;
  return mine;
}
std::vector<TraceTensor> described(ArrayRef<const Tensor*> tensors) {
  std::vector<TraceTensor> out;
  out.reserve(tensors.size());
  for (const Tensor* t : tensors) out.push_back({t->dtype(), t->sizes()});
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}
std::string list(const std::vector<TraceTensor>& tensors) {
  std::ostringstream out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out << (i ? " " : "") << tensors[i].dtype << IntArrayRef(tensors[i].sizes);
  return quoted(out.str());
}
/// The names of categories that PyTorch's profiler uses, so that what reads its traces reads these.
const char* category(const TraceEvent& e) {
  switch (e.kind) {
    case TraceEvent::Kind::kernel: return "cpu_op";
    case TraceEvent::Kind::communication: return "communication";
    case TraceEvent::Kind::transfer: return "gpu_memcpy";
    default: return "user_annotation";
  }
}
void write_event(std::ostream& out, const TraceEvent& e) {
  const double microseconds = 1e6;
  out << "{\"ph\": \"X\", \"cat\": \"" << category(e) << "\", \"name\": " << quoted(e.name) << ", \"pid\": " << e.rank
      << ", \"tid\": " << e.thread << ", \"ts\": " << e.start * microseconds
      << ", \"dur\": " << (e.end - e.start) * microseconds << ", \"args\": {\"device\": " << quoted(e.device.str());
  if (e.kind == TraceEvent::Kind::transfer) out << ", \"to\": " << quoted(e.to.str());
  if (e.kind == TraceEvent::Kind::communication) out << ", \"queued\": " << e.queued * microseconds;
  if (e.kind == TraceEvent::Kind::kernel) out << ", \"reads\": " << list(e.reads) << ", \"writes\": " << list(e.writes);
  if (e.bytes > 0) out << ", \"bytes\": " << e.bytes;
  out << "}}";
}
/// A line that names a process or a thread of the trace.
void write_name(std::ostream& out, const char* what, int rank, int thread, const std::string& name) {
  out << "{\"ph\": \"M\", \"name\": \"" << what << "\", \"pid\": " << rank << ", \"tid\": " << thread
      << ", \"args\": {\"name\": " << quoted(name) << "}}";
}

}  // namespace

double detail::trace_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Tracer::on_call(const KernelCall& call) {
  if (!kernels_ || !on_) return pass(call);
  TraceEvent event{.kind = TraceEvent::Kind::kernel, .name = call.op};
  event.device = call.device;
  event.reads = described(call.reads), event.writes = described(call.writes);
  for (const auto& tensors : {call.reads, call.writes})
    for (const Tensor* t : tensors) event.bytes += t->nbytes();
  event.start = trace_clock();
  pass(call);
  event.end = trace_clock();
  add(std::move(event));
}
void Tracer::add(TraceEvent event) {
  event.thread = thread_number();
  event.lane = RankContext::current().lane;
  const std::lock_guard lock(mutex_);
  if (on_) events_.push_back(std::move(event));
}
std::vector<TraceEvent> Tracer::stop() {
  const std::lock_guard lock(mutex_);
  on_ = false;
  return std::move(events_);
}

void PhaseSpan::begin(const char* name) {
  tracer_ = RankContext::current().tracer;
  name_ = name;
  outer_ = std::exchange(phase_of_thread, name);
  start_ = trace_clock();
}
void PhaseSpan::end() {
  phase_of_thread = outer_;
  TraceEvent event{.kind = TraceEvent::Kind::phase, .name = name_};
  event.start = start_, event.end = trace_clock();
  tracer_->add(std::move(event));
}
const char* detail::current_phase() { return phase_of_thread; }

void start_trace(bool kernels) {
  take_trace();
  RankContext& context = RankContext::current();
  const auto tracer = std::make_shared<Tracer>(kernels);
  if (kernels) attach_observer(tracer);
  context.tracer = tracer;
}

std::vector<TraceEvent> take_trace() {
  RankContext& context = RankContext::current();
  const std::shared_ptr<Tracer> tracer = std::exchange(context.tracer, nullptr);
  if (!tracer) return {};
  if (context.observer == tracer) context.observer = std::shared_ptr(tracer->outer());
  std::vector<TraceEvent> events = tracer->stop();
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.start < b.start; });
  return events;
}

void write_trace(const std::string& path, const std::vector<TraceEvent>& events) {
  std::ofstream out(path, std::ios::trunc);
  out.precision(16);
  out << "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  std::map<std::pair<int, int>, int> threads;  // by rank and thread: the lane that it was in first
  for (const TraceEvent& e : events) threads.try_emplace({e.rank, e.thread}, e.lane);
  for (const auto& [thread, lane] : threads) {
    write_name(out, "process_name", thread.first, thread.second,
               std::string("rank ").append(std::to_string(thread.first)));
    out << ",\n";
    write_name(
        out, "thread_name", thread.first, thread.second,
        std::string("thread ").append(std::to_string(thread.second)).append(", lane ").append(std::to_string(lane)));
    out << ",\n";
  }
  const char* separator = "";
  for (const TraceEvent& e : events) {
    out << std::exchange(separator, ",\n");
    write_event(out, e);
  }
  out << "\n]}\n";
  out.close();
  TANDEM_CHECK(out, "write_trace: cannot write ", path);
}
void stop_trace(const std::string& path) { write_trace(path, take_trace()); }

TraceSpan::TraceSpan(std::string name) : name_(std::move(name)), start_(trace_clock()) {}
TraceSpan::~TraceSpan() {
  Tracer* const tracer = current_tracer();
  if (!tracer) return;
  TraceEvent event{.kind = TraceEvent::Kind::span, .name = std::move(name_)};
  event.start = start_, event.end = trace_clock();
  tracer->add(std::move(event));
}

}  // namespace tandem
