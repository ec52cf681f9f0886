// Trace of the whole program, if the environment variable TANDEM_TRACE_FOLDER is set: each process writes its part into
// that folder when it ends. `tandem trace` sets the variable.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "tandem/core/trace/tracer.h"

namespace tandem::detail {
namespace {

/// Maximum number of events; further events are only counted. The limit exists because an event takes about 300 bytes,
/// and viewers become slow.
constexpr size_t kMaxEvents = 500'000;

struct ProcessTrace {
  std::string folder;
  pid_t process_id = ::getpid();
  std::shared_ptr<Tracer> tracer = std::make_shared<Tracer>(/*kernels=*/true, nullptr, kMaxEvents);
};
/// Rank of this process in its job; 0 until it is known.
std::atomic<int> process_rank{0};

/// The trace of this process, or null if none is requested. Never destroyed: threads may outlive static objects.
ProcessTrace* process_trace() {
  static ProcessTrace* const trace = []() -> ProcessTrace* {
    const char* const folder = std::getenv("TANDEM_TRACE_FOLDER");
    return folder && *folder ? new ProcessTrace{.folder = folder} : nullptr;
  }();
  return trace;
}

void write_trace_at_exit() {
  ProcessTrace& trace = *process_trace();
  // a forked child writes nothing, because the recorded events are its parent's
  if (trace.process_id != ::getpid()) return;
  try {
    write_process_trace(trace.folder + "/" + std::to_string(trace.process_id), *trace.tracer, process_rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
  }
}

}  // namespace

void write_process_trace(const std::string& path, Tracer& tracer, int rank) {
  std::vector<TraceEvent> events = tracer.stop();
  if (events.empty()) return;
  for (TraceEvent& event : events) event.rank = rank;
  write_trace(path + ".json", events);
  if (const int64_t num_dropped_events = tracer.num_dropped_events(); num_dropped_events > 0)
    if (std::FILE* const file = std::fopen((path + ".left_out").c_str(), "w")) {
      std::fprintf(file, "%lld\n", static_cast<long long>(num_dropped_events));
      std::fclose(file);
    }
}

void attach_process_trace(ThreadContext& context) {
  ProcessTrace* const trace = process_trace();
  if (!trace) return;
  [[maybe_unused]] static const int registered = std::atexit(write_trace_at_exit);
  context.tracer = trace->tracer;
  context.observer = trace->tracer;
}
void set_process_trace_rank(int rank) { process_rank = rank; }
bool is_process_trace(const Tracer& tracer) {
  const ProcessTrace* const trace = process_trace();
  return trace && trace->tracer.get() == &tracer;
}

}  // namespace tandem::detail
