// When a GPU worked at each call of a kernel. Internal.
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

/// Puts an event before and after the work of a call on its GPU's stream, and tells the host's time of both later.
class GpuTimer {
 public:
  struct Span {
    TraceEvent event;
    cuda::Event begin{true}, end{true};
  };
  /// Nothing where the call's work is recorded rather than run.
  std::optional<Span> begin(const KernelCall& call);
  void end(Span span);
  /// Waits for what is under way, and returns all that came of the calls.
  std::vector<TraceEvent> take();

 private:
  /// A moment that is known by both clocks.
  struct Anchor {
    double host = 0;
    cuda::Event event{true};
  };
  void collect();  // what is in `spans_`, under the lock
  std::mutex mutex_;
  std::map<Device, Anchor> anchors_;
  std::map<std::pair<Device, const void*>, int> streams_;
  int64_t calls_ = 0;
  std::vector<Span> spans_;
  std::vector<TraceEvent> events_;
};

}  // namespace tandem::detail
