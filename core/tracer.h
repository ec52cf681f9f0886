// What records a trace, and the marks that the library's own code puts into it. Internal.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "tandem/core/observer.h"
#include "tandem/core/rank_context.h"
#include "tandem/core/trace.h"

namespace tandem::detail {

/// Seconds of the steady clock.
double trace_clock();

/// Takes the time of each call, and keeps events. Contexts that were copied keep it beyond the trace's end: then it
/// only passes on.
class Tracer final : public Observer {
 public:
  explicit Tracer(bool kernels) : kernels_(kernels) {}
  void on_call(const KernelCall& call) override;
  /// Sets the event's thread and lane to the caller's.
  void add(TraceEvent event);
  std::vector<TraceEvent> stop();

 private:
  const bool kernels_;
  std::atomic<bool> on_{true};
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
};

/// The trace that is on for this thread, or null.
inline Tracer* current_tracer() { return RankContext::current().tracer.get(); }

/// Says what this thread's lane does until it goes out of scope. Without a trace it costs a branch.
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
  const char *name_ = nullptr, *outer_ = nullptr;
  double start_ = 0;
};

/// The innermost phase that this thread is in, or null; while there is a trace.
const char* current_phase();

}  // namespace tandem::detail
