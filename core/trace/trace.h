// A record of what ran: kernel calls, what each lane did, transfers and collectives, with their times. It can be
// written as Chrome's trace JSON, or taken as it is.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/array_ref.h"
#include "tandem/core/device.h"
#include "tandem/core/dtype.h"

namespace tandem {

/// A tensor that a kernel call read or wrote.
struct TraceTensor {
  /// Its dtype.
  DType dtype;
  /// Its sizes.
  detail::Shape sizes;
};

/// One entry of a trace: what was done from when to when, by which thread.
struct TraceEvent {
  /// What an event is of.
  enum class Kind : int8_t {
    kernel,         // a call of a kernel, on `device`; of a GPU's, until its work was put on the stream
    gpu,            // what a GPU did for the call with the same `correlation`, from when it began to when it was done
    phase,          // what a lane was doing: "forward", "scatter", "wait"; the innermost that is open counts
    communication,  // a collective, from when it was this rank's turn; `queued` is when it was called
    transfer,       // a copy between devices, from `device` to `to`
    gradient,       // a moment: DistributedDataParallel saw the gradient of the parameter `name`
    span            // a TraceSpan
  };
  /// What it is of.
  Kind kind = Kind::span;
  /// Of a kernel, a collective or a phase its name; of a gradient the parameter's.
  std::string name;
  int rank = 0;    // set by who brings several ranks' traces together
  int lane = 0;    // of its rank: the number of the device that it works for, under DataParallel
  int thread = 0;  // a number of its own for each thread of the process
  /// Where it was; of a transfer, from where and to where.
  Device device = {}, to = {};
  double start = 0, end = 0;  // seconds of std::chrono::steady_clock, which all processes of a machine share
  /// Of a collective: when it was called, in the same seconds.
  double queued = 0;
  /// Of a phase: how many seconds of a processor its thread had had at the start and at the end.
  double cpu_start = 0, cpu_end = 0;
  int64_t correlation = 0;  // of a call of a GPU's kernel and of what came of it; 0: there is nothing to find
  int stream = 0;           // of Kind::gpu: a number of its own for each stream, from 1
  int64_t bytes = 0;        // of a kernel call: of all tensors; of a collective: of its tensor
  /// Of a kernel call: the tensors that it read and wrote.
  std::vector<TraceTensor> reads = {}, writes = {};
};

/// Starts to record what this thread does, and the threads that work for it from now on (autograd's, DataParallel's,
/// loaders', those of collectives); each rank records for itself. What an earlier trace recorded is dropped.
/// @param kernels  whether each kernel call is recorded too
void start_trace(bool kernels = true);
/// Stops, and returns what was recorded, by the time of the start; nothing where no trace was on.
std::vector<TraceEvent> take_trace();
/// Writes Chrome's trace JSON with the categories of PyTorch's profiler, which chrome://tracing, Perfetto and
/// HolisticTraceAnalysis open: a process for each rank, a row for each thread and each stream of a GPU. The file is
/// written whole or not at all.
/// @throws Error when it cannot be written
void write_trace(const std::string& path, const std::vector<TraceEvent>& events);
/// write_trace(path, take_trace()).
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
