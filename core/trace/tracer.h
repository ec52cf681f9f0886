// What records a trace, and the marks that the library's own code puts into it. Internal.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

#include "tandem/core/rank_context.h"
#include "tandem/core/trace/gpu_timer.h"
#include "tandem/core/trace/observer.h"
#include "tandem/core/trace/trace.h"

namespace tandem::detail {

/// A text as JSON writes it, with blanks in the place of control characters.
std::string json_string(const std::string& text);
/// Seconds of the steady clock.
double trace_clock();
/// Seconds for which this thread has had a processor.
double thread_clock();

/// Takes the time of each call, and keeps events. Contexts that were copied keep it beyond the trace's end: then it
/// only passes on.
class Tracer final : public Observer {
 public:
  /// @param around  a trace within which this one is: it gets the same marks. Null: there is none
  /// @param most    events; later ones are only counted
  explicit Tracer(bool kernels, std::shared_ptr<Tracer> around = nullptr, size_t most = SIZE_MAX)
      : kernels_(kernels), most_(most), around_(std::move(around)) {}
  void on_call(const KernelCall& call) override;
  /// Sets the event's thread and lane to the caller's.
  void add(TraceEvent event);
  /// By the time of the start.
  std::vector<TraceEvent> stop();
  const std::shared_ptr<Tracer>& around() const { return around_; }
  int64_t left_out() const { return left_out_; }

 private:
  void keep(TraceEvent event);
  const bool kernels_;
  const size_t most_;
  const std::shared_ptr<Tracer> around_;
  std::atomic<bool> on_{true};
  std::atomic<int64_t> left_out_{0};
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
  GpuTimer gpu_;
};

/// Where the environment asks for a trace of the whole program (`tandem trace` does), gives this context, which is no
/// copy of another, to it. What was recorded is written when the program ends.
void trace_if_asked(RankContext& context);
/// Sets the rank of this process in its job, under which the trace of the whole program lists its events. It is 0
/// before.
void set_process_trace_rank(int rank);
/// Stops the tracer and writes its events to `path`.json, with this rank. Writes the number of events that the tracer
/// left out, if there are any, to `path`.left_out. Writes nothing if there is no event. @throws Error
void write_process_trace(const std::string& path, Tracer& tracer, int rank);
/// Whether it is that trace, which ends with the program only.
bool is_process_trace(const Tracer& tracer);

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
  double start_ = 0, cpu_start_ = 0;
};

/// The innermost phase that this thread is in, or null; while there is a trace.
const char* current_phase();

}  // namespace tandem::detail
