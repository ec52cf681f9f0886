// Tabulates the operations in a trace, with their times and floating-point operations, and the busy time of each GPU.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::tools::trace {

/// One event of a trace file.
struct Line {
  std::string name, category, device;
  std::string reads, writes;  // tensors that the operation reads and writes, such as "float32(2, 3)"
  int process = 0;
  double start = 0, seconds = 0;
  int64_t bytes = 0, correlation = 0;
  int stream = 0;  // CUDA stream; 0 if the event is not on a GPU
};

/// Totals over all calls of one operation on one device.
struct OpRow {
  std::string op, device;
  int64_t count = 0, bytes = 0;
  double seconds = 0, flops = 0;
};

/// How a GPU spent the time from its first work to its last, in seconds.
struct GpuUtilization {
  double compute = 0;      // time while at least one kernel ran
  double non_compute = 0;  // time while only copies ran
  double idle = 0;
  double total() const { return compute + non_compute + idle; }
};

class OpTable {
 public:
  /// Adds an event to the table. A CPU operation counts with its time on the host, a GPU kernel or copy with its time
  /// on the GPU. Host events of other kinds, or without tensors, are ignored.
  void add(const Line& line);
  /// Returns the rows, longest total time first.
  std::vector<OpRow> rows() const;
  std::map<std::string, GpuUtilization> busy() const;
  bool empty() const { return rows_.empty() && gpu_events_.empty(); }
  /// Formats a table, 85 columns wide, with the count, total and mean time, bytes, bytes per second and FLOP/s of each
  /// operation.
  std::string str() const;

 private:
  struct Work {
    double start, end;
    bool computes;
  };
  void add_call(const Line& line, double flops);
  std::map<std::pair<std::string, std::string>, OpRow> rows_;  // totals by operation and device
  /// Calls that launched work on a GPU, with their FLOPs, by process and correlation ID.
  std::map<std::pair<int, int64_t>, std::pair<Line, double>> calls_;
  std::vector<Line> gpu_events_;
};

using Sizes = std::vector<int64_t>;

/// Parses the shapes of tensors as they appear in a trace: "float32(2, 3) float32(3,)". @throws Error if the text is
/// malformed
std::vector<Sizes> parse_sizes(const std::string& tensors);
/// Returns the FLOPs of a matrix product, or of the forward or backward of a convolution. A multiply-add counts as two,
/// as in PyTorch's profiler. Returns 0 for other operations, because their cost is mostly memory traffic.
double estimate_flops(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes);

}  // namespace tandem::tools::trace
