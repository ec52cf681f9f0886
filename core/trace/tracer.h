// Tracer: records a trace, and marks that the library's own code adds to it. Internal.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "tandem/core/thread_context.h"
#include "tandem/core/trace/gpu_timer.h"
#include "tandem/core/trace/observer.h"
#include "tandem/core/trace/op_span.h"
#include "tandem/core/trace/trace.h"

namespace tandem::detail {

/// Returns text as a JSON string, with control characters replaced by blanks.
std::string json_string(const std::string& text);
/// Time of the steady clock, in seconds.
double trace_clock_seconds();
/// CPU time of this thread, in seconds.
double thread_cpu_seconds();

/// Observer that times each call and collects events. Copies of a ThreadContext may keep it after the end of the trace.
/// It then only passes calls on.
class Tracer final : public Observer {
 public:
  /// @param enclosing  enclosing trace, which gets the same events; null if there is none
  /// @param max_events  maximum number of events; later ones are only counted
  explicit Tracer(bool kernels, std::shared_ptr<Tracer> enclosing = nullptr, size_t max_events = SIZE_MAX)
      : records_kernels_(kernels), max_events_(max_events), enclosing_(std::move(enclosing)) {
    if (records_kernels_) ++num_kernel_traces;
  }
  ~Tracer() override { stop_recording(); }
  void on_kernel_call(const KernelCall& call) override;
  /// Adds an event to this trace and the enclosing ones, with the thread and the `lane` of the caller.
  void add_event(TraceEvent event);
  /// Stops recording and returns the events, sorted by start time.
  std::vector<TraceEvent> stop();
  const std::shared_ptr<Tracer>& enclosing() const { return enclosing_; }
  int64_t num_dropped_events() const { return num_dropped_events_; }

 private:
  void append_event(TraceEvent event);
  void stop_recording();
  const bool records_kernels_;
  const size_t max_events_;
  const std::shared_ptr<Tracer> enclosing_;
  std::atomic<bool> is_recording_{true};
  std::atomic<int64_t> num_dropped_events_{0};
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
  GpuTimer gpu_timer_;
};

/// Attaches the trace of the whole program, if the environment requests one (as `tandem trace` does), to this context,
/// which must not be a copy of another. The trace is written when the program ends.
void attach_process_trace(ThreadContext& context);
/// Sets the rank of this process in its job, which the trace of the whole program records; 0 until set.
void set_process_trace_rank(int rank);
/// Stops the tracer and writes its events to `path`.json with this rank. If the tracer left out events, writes their
/// number to `path`.num_dropped_events. Writes nothing if there are no events. @throws Error if `path`.json cannot be
/// written
void write_process_trace(const std::string& path, Tracer& tracer, int rank);
/// Whether this tracer records the whole program; such a tracer stops only when the program ends.
bool is_process_trace(const Tracer& tracer);

/// The tracer of this thread's current trace, or null.
inline Tracer* current_tracer() { return ThreadContext::current().tracer.get(); }

/// Marks a phase of this thread in the trace, from construction to destruction. Without a trace it costs only a branch.
class PhaseSpan {
 public:
  explicit PhaseSpan(const char* name) {
    if (current_tracer()) [[unlikely]]
      begin(name);
  }
  ~PhaseSpan() {
    if (tracer_) [[unlikely]]
      end();
  }
  PhaseSpan(const PhaseSpan&) = delete;

 private:
  void begin(const char* name);
  void end();
  std::shared_ptr<Tracer> tracer_;
  const char *name_ = nullptr, *outer_phase_ = nullptr;
  double start_ = 0, cpu_start_ = 0;
};

/// The innermost phase of this thread, or null; set only during a trace.
const char* current_phase();

}  // namespace tandem::detail
