// The operations of a trace, with their times and floating-point operations, and the busy time of each GPU.
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
  std::string reads, writes;  // tensors of a call, as in "float32(2, 3)"
  int process = 0;
  double start = 0, seconds = 0;
  int64_t bytes = 0, correlation = 0;
  int stream = 0;  // 0: not on a GPU's stream
};

/// All calls of one operation on one device.
struct OpRow {
  std::string op, device;
  int64_t count = 0, bytes = 0;
  double seconds = 0, flops = 0;
};

/// Activity of a GPU from the start of its first work to the end of its last, in seconds.
struct Busy {
  double compute = 0;      // while at least one kernel ran
  double non_compute = 0;  // while only copies ran
  double idle = 0;
  double total() const { return compute + non_compute + idle; }
};

class OpTable {
 public:
  /// Adds an event. A CPU call counts with its duration on the host, a GPU kernel with its duration on the GPU.
  void add(const Line& line);
  /// Returns the rows, longest total time first.
  std::vector<OpRow> rows() const;
  std::map<std::string, Busy> busy() const;
  bool empty() const { return rows_.empty() && on_gpus_.empty(); }
  /// Formats a table of 80 columns: each operation's count, total and mean time, bytes, bytes per second and FLOP/s.
  std::string str() const;

 private:
  struct Work {
    double start, end;
    bool computes;
  };
  void add_call(const Line& line, double flops);
  std::map<std::pair<std::string, std::string>, OpRow> rows_;  // by operation and device
  std::map<std::pair<int, int64_t>, std::pair<Line, double>>
      calls_;  // GPU calls and their FLOPs, by process and correlation ID
  std::vector<Line> on_gpus_;
};

using Sizes = std::vector<int64_t>;

/// Parses the sizes of tensors as a trace writes them: "float32(2, 3) float32(3,)". @throws Error if the text is
/// malformed
std::vector<Sizes> parse_sizes(const std::string& tensors);
/// Returns the FLOPs of a matrix product, or of a convolution forward or backward: two for each multiply-add, as
/// PyTorch's profiler counts. 0 for other operations, whose cost is memory traffic.
double flops_of(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes);

}  // namespace tandem::tools::trace
