// Traces: records of kernel calls, modules, phases of each device's thread, transfers and collectives, with their
// times. A trace can be written as Chrome's trace JSON, or returned as a list of events.
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
  /// Dtype of the tensor.
  DType dtype;
  /// Sizes of the tensor.
  detail::Shape sizes;
};

/// One entry of a trace: an activity, its start and end, and its thread.
struct TraceEvent {
  /// Kind of activity.
  enum class Kind : int8_t {
    kernel,         // a kernel call on `device`; for a GPU, it ends when the work is queued on the stream
    gpu,            // work of a GPU, from start to end; its kernel call has the same `correlation`
    phase,          // a phase such as "forward", "scatter" or "wait"; if phases are nested, only the innermost counts
    communication,  // a collective, from the time when this rank starts it; `queued` is the time of the call
    transfer,       // a copy between devices, from `device` to `to`
    gradient,       // an instant: DistributedDataParallel received the gradient of parameter `name`
    span,           // a TraceSpan
    module,         // a call of a module; its name is a path such as "Net.conv1"
    op              // an operation that may run several kernels, such as "Adam.step", or a node of backward
  };
  /// Kind of this event.
  Kind kind = Kind::span;
  /// Name of the kernel, collective or phase; for a gradient, name of the parameter.
  std::string name;
  int rank = 0;    // rank that recorded the event; set by code that merges traces
  int lane = 0;    // index of the DataParallel device that the thread works for
  int thread = 0;  // number of the thread, counted within the process
  /// Device of the activity; for a transfer, source and destination.
  Device device = {}, to = {};
  double start = 0, end = 0;  // seconds of std::chrono::steady_clock, which all processes of a machine share
  /// For a collective: time of the call, in seconds of the clock of `start`.
  double queued = 0;
  /// For a phase: CPU time of the thread at the start and at the end, in seconds.
  double cpu_start = 0, cpu_end = 0;
  int64_t correlation = 0;  // ID that links a kernel call to its GPU activity; 0 if there is none
  int stream = 0;           // for Kind::gpu: number of the stream, from 1
  int64_t bytes = 0;        // total size of the tensors of a kernel call, or size of the tensor of a collective
  /// For a kernel call: the tensors that it read and wrote.
  std::vector<TraceTensor> reads = {}, writes = {};
  /// For a node of backward: path of the module whose forward recorded the node; empty if there is none.
  std::string module = {};
};

/// Starts to record this thread, and threads that start working for it from now on (autograd, DataParallel, data
/// loaders, collectives). Each rank has its own trace. Drops an earlier trace.
/// @param kernels  whether to record each kernel call, and the modules and operations that made it
void start_trace(bool kernels = true);
/// Stops the trace and returns its events, sorted by start time; empty if no trace was on.
std::vector<TraceEvent> take_trace();
/// Writes Chrome's trace JSON with the categories of PyTorch's profiler; chrome://tracing, Perfetto and
/// HolisticTraceAnalysis open it. Each rank is a process; each thread, and each stream of a GPU, is a row. The file is
/// written completely or not at all.
/// @throws Error if the file cannot be written
void write_trace(const std::string& path, const std::vector<TraceEvent>& events);
/// write_trace(path, take_trace()).
void stop_trace(const std::string& path);

/// A user-defined span in the trace ("epoch", "load"), from construction to destruction.
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
