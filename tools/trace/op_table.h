// The operations of a trace, with their times and floating-point operations, and the busy time of each GPU.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::tools::trace {

/// One line of a trace file that is an event.
struct Line {
  std::string name, category, device;
  std::string reads, writes;  // of a kernel's call
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

/// What a GPU did between its first work and the end of its last, in seconds.
struct Busy {
  double compute = 0;      // while at least one kernel ran
  double non_compute = 0;  // while copies alone did
  double idle = 0;
  double total() const { return compute + non_compute + idle; }
};

class OpTable {
 public:
  /// A call on the CPU counts for as long as it took the host; one of a GPU's kernel for as long as the GPU worked.
  void add(const Line& line);
  /// The longest first.
  std::vector<OpRow> rows() const;
  std::map<std::string, Busy> busy() const;
  bool empty() const { return rows_.empty() && on_gpus_.empty(); }
  /// In 80 columns: each operation's count, total and mean time, bytes, GB/s and FLOP/s.
  std::string str() const;

 private:
  struct Work {
    double start, end;
    bool computes;
  };
  void add_call(const Line& line, double flops);
  std::map<std::pair<std::string, std::string>, OpRow> rows_;         // by operation and device
  std::map<std::pair<int, int64_t>, std::pair<Line, double>> calls_;  // of GPUs, by process and correlation; the FLOPs
  std::vector<Line> on_gpus_;
};

using Sizes = std::vector<int64_t>;

/// Tensors as a trace has them, "float32(2, 3) float32(3,)". @throws Error on any other text
std::vector<Sizes> parse_sizes(const std::string& tensors);
/// Products and convolutions, forward and backward: two operations for each product of two numbers that is added up, as
/// PyTorch's profiler counts. 0 of all others: what they cost is memory, not arithmetic.
double flops_of(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes);

}  // namespace tandem::tools::trace
