// Writes a trace to a file, in the format of the Chrome and PyTorch profilers.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "tandem/core/trace/tracer.h"

namespace tandem {

std::string detail::json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

namespace {
using detail::json_string;

std::string format_tensor_list(const std::vector<TraceTensor>& tensors) {
  std::ostringstream out;
  for (size_t i = 0; i < tensors.size(); ++i)
    out << (i ? " " : "") << tensors[i].dtype << IntArrayRef(tensors[i].sizes);
  return json_string(out.str());
}
/// Row in which viewers show an event within its rank: the event's thread, or for a GPU event its stream, numbered
/// after all threads.
int event_row(const TraceEvent& e) {
  constexpr int kStreams = 1000000;
  return e.kind == TraceEvent::Kind::gpu ? kStreams + e.stream : e.thread;
}
/// Category of an event, as in PyTorch's profiler, so that tools for its traces can read these.
const char* event_category(const TraceEvent& e) {
  switch (e.kind) {
    case TraceEvent::Kind::kernel:
    case TraceEvent::Kind::op:
    case TraceEvent::Kind::transfer: return "cpu_op";
    case TraceEvent::Kind::gpu: return e.name.rfind("Memcpy", 0) == 0 ? "gpu_memcpy" : "kernel";
    case TraceEvent::Kind::communication: return "communication";
    default: return "user_annotation";
  }
}
/// Kind of an event, by which `tandem trace` tells events of one category apart.
const char* kind_name(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::kernel: return "kernel";
    case TraceEvent::Kind::gpu: return "gpu";
    case TraceEvent::Kind::phase: return "phase";
    case TraceEvent::Kind::communication: return "communication";
    case TraceEvent::Kind::transfer: return "transfer";
    case TraceEvent::Kind::gradient: return "gradient";
    case TraceEvent::Kind::module: return "module";
    case TraceEvent::Kind::op: return "op";
    case TraceEvent::Kind::span: break;
  }
  return "span";
}
void write_event(std::ostream& out, const TraceEvent& e) {
  const double microseconds = 1e6;
  out << "{\"ph\": \"X\", \"cat\": \"" << event_category(e) << "\", \"name\": " << json_string(e.name)
      << ", \"pid\": " << e.rank << ", \"tid\": " << event_row(e) << ", \"ts\": " << e.start * microseconds
      << ", \"dur\": " << (e.end - e.start) * microseconds << ", \"args\": {\"kind\": \"" << kind_name(e.kind)
      << "\", \"device\": " << json_string(e.device.str());
  if (e.kind == TraceEvent::Kind::transfer) out << ", \"to\": " << json_string(e.to.str());
  if (e.kind == TraceEvent::Kind::communication) out << ", \"queued\": " << e.queued * microseconds;
  if (e.kind == TraceEvent::Kind::kernel)
    out << ", \"reads\": " << format_tensor_list(e.reads) << ", \"writes\": " << format_tensor_list(e.writes);
  if (!e.module.empty()) out << ", \"module\": " << json_string(e.module);
  if (e.kind == TraceEvent::Kind::gpu) out << ", \"stream\": " << e.stream;
  if (e.correlation > 0) out << ", \"correlation\": " << e.correlation;
  if (e.bytes > 0) out << ", \"bytes\": " << e.bytes;
  out << "}}";
}
/// Writes a metadata line that names a process or a thread.
void write_metadata_name(std::ostream& out, const char* what, int rank, int thread, const std::string& name) {
  out << "{\"ph\": \"M\", \"name\": \"" << what << "\", \"pid\": " << rank << ", \"tid\": " << thread
      << ", \"args\": {\"name\": " << json_string(name) << "}}";
}

}  // namespace

void write_trace(const std::string& path, const std::vector<TraceEvent>& events) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::trunc);
  out.precision(16);
  const int rank = events.empty() ? 0 : events[0].rank;
  out << "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": " << rank << "}, \"traceEvents\": [\n";
  std::map<std::pair<int, int>, std::string> rows;  // name of each row in a trace viewer, by rank and row number
  for (const TraceEvent& e : events) {
    std::string name = e.kind == TraceEvent::Kind::gpu
                           ? e.device.str() + " stream " + std::to_string(e.stream)
                           : "thread " + std::to_string(e.thread) + ", lane " + std::to_string(e.lane);
    rows.try_emplace({e.rank, event_row(e)}, std::move(name));
  }
  for (const auto& [row, name] : rows) {
    write_metadata_name(out, "process_name", row.first, row.second, "rank " + std::to_string(row.first));
    out << ",\n";
    write_metadata_name(out, "thread_name", row.first, row.second, name);
    out << ",\n";
  }
  const char* separator = "";
  for (const TraceEvent& e : events) {
    out << std::exchange(separator, ",\n");
    write_event(out, e);
  }
  out << "\n]}\n";
  out.close();
  if (out && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const std::string reason = std::strerror(errno);
  std::remove(temporary.c_str());
  TANDEM_FAIL("write_trace: cannot write ", path, ": ", reason);
}

}  // namespace tandem
