// A record of every kernel call that ran: op, shapes, bytes, device, thread, start and end, as Chrome's trace JSON.
#pragma once
#include <string>

namespace tandem {

/// Starts to record what this thread does, and the threads that work for it from now on (autograd's, DataParallel's,
/// loaders'); each rank records for itself. What an earlier trace recorded is dropped. Open the file in
/// chrome://tracing or Perfetto.
void start_trace();
/// Stops, and writes what was recorded to `path`. @throws Error when it cannot be written
void stop_trace(const std::string& path);

/// A span of one's own in the trace ("epoch", "load"), from construction to destruction.
class TraceSpan {
 public:
  explicit TraceSpan(std::string name);
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;

 private:
  std::string name_;
  double start_;
};

}  // namespace tandem
