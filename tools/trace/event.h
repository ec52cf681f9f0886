// Events of a trace file, as `tandem trace` reads them, and the FLOPs of operations.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::tools::trace {

/// Processes that are not ranks, or that repeat the number of a rank, get numbers from this one on.
inline constexpr int kFirstOtherProcessId = 1000;

/// One event of a trace file. Times are in nanoseconds.
struct Event {
  std::string name;
  std::string kind;      // see TraceEvent::Kind: "kernel", "module", ...
  std::string category;  // category of a GPU event: "kernel", or "gpu_memcpy" for a copy
  std::string device;
  std::string reads, writes;  // tensors that a kernel reads and writes, such as "float32(2, 3)"
  std::string module;         // for a backward node: path of the module whose forward recorded the node
  int process = 0, thread = 0;
  int64_t start = 0, end = 0;
  int64_t bytes = 0, correlation_id = 0;
  int stream = 0;  // CUDA stream; 0 if the event is not on a GPU
};

using Sizes = std::vector<int64_t>;

/// Parses the shapes of tensors as they appear in a trace: "float32(2, 3) float32(3,)". @throws Error if the text is
/// malformed
std::vector<Sizes> parse_sizes(const std::string& tensors);
/// Returns the FLOPs of a matrix product, or of the forward or backward of a convolution. A multiply-add counts as two,
/// as in PyTorch's profiler. Returns 0 for other operations, because their cost is mostly memory traffic.
double estimate_flops(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes);
double estimate_flops(const Event& event);

}  // namespace tandem::tools::trace
