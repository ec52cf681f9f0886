// GpuTimer: measures when a GPU works on each kernel call. Internal.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/trace/observer.h"
#include "tandem/core/trace/trace.h"

namespace tandem::detail {

/// Records an event before and after the work of a call on its GPU stream, and later converts both to host time.
class GpuTimer {
 public:
  struct Span {
    TraceEvent event;
    cuda::Event begin{true}, end{true};
  };
  /// Starts to measure a call. Returns nullopt if the stream is being captured, because then the work does not run now.
  std::optional<Span> begin_span(const KernelCall& call);
  void end_span(Span span);
  /// Waits for calls under way, and returns the events of all calls.
  std::vector<TraceEvent> take_events();

 private:
  /// A moment that is known both in host time and as a GPU event; used to convert times of GPU events to host time.
  struct ClockAnchor {
    double host_seconds = 0;
    cuda::Event event{true};
  };
  void collect_events();  // moves all of `spans_` to `events_`; the caller holds the lock
  std::mutex mutex_;
  std::map<Device, ClockAnchor> anchors_;
  std::map<std::pair<Device, const void*>, int> stream_numbers_;
  int64_t num_calls_ = 0;
  std::vector<Span> spans_;
  std::vector<TraceEvent> events_;
};

}  // namespace tandem::detail
