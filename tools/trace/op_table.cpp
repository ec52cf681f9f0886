// Implements OpTable and estimate_flops: add up the calls of each operation and the busy time of each GPU, and format
// the table.
#include "tandem/tools/trace/op_table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "tandem/core/error.h"

namespace tandem::tools::trace {
namespace {

/// Formats a value with three digits, an SI prefix and a unit, in at most 8 characters: "1.25 ms", "34.0 G".
std::string format_si(double value, const char* unit, double smallest = 1) {
  static const char* const kPrefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
  if (value <= 0) return "-";
  int prefix = 3;
  for (; value >= 999.5 && prefix < 8; ++prefix) value /= 1e3;
  for (; value < smallest && prefix > 0; --prefix) value *= 1e3;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s%s",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, kPrefixes[prefix], unit);
  return text;
}
std::string seconds_text(double seconds) { return format_si(seconds, "s"); }
std::string format_row(const OpRow& row, double all) {
  char text[200];
  std::snprintf(text, sizeof text, "%-22.22s %-6.6s %7lld %8s %4.0f%% %8s %7s %7s %7s\n", row.op.c_str(),
                row.device.c_str(), static_cast<long long>(row.count), seconds_text(row.seconds).c_str(),
                all > 0 ? 100 * row.seconds / all : 0,
                seconds_text(row.seconds / static_cast<double>(row.count)).c_str(),
                format_si(static_cast<double>(row.bytes), "B").c_str(),
                row.seconds > 0 ? format_si(static_cast<double>(row.bytes) / row.seconds, "").c_str() : "-",
                row.seconds > 0 ? format_si(row.flops / row.seconds, "").c_str() : "-");
  return text;
}

double numel(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>()); }

/// Returns the number of multiply-adds per output element of a convolution: input channels per group times the size of
/// the kernel window.
double macs_per_output(const Sizes& weight) { return weight.empty() || weight[0] == 0 ? 0 : numel(weight) / weight[0]; }

}  // namespace

void OpTable::add(const Line& line) {
  if (line.stream > 0) {
    gpu_events_.push_back(line);
    return;
  }
  if (line.category != "cpu_op" || (line.reads.empty() && line.writes.empty())) return;
  const double flops = estimate_flops(line.name, parse_sizes(line.reads), parse_sizes(line.writes));
  if (line.correlation > 0)
    calls_[{line.process, line.correlation}] = {line, flops};
  else
    add_call(line, flops);
}

void OpTable::add_call(const Line& line, double flops) {
  OpRow& row = rows_[{line.name, line.device}];
  row.op = line.name;
  row.device = line.device;
  ++row.count;
  row.bytes += line.bytes;
  row.seconds += line.seconds;
  row.flops += flops;
}

std::vector<OpRow> OpTable::rows() const {
  OpTable all = *this;
  for (const Line& work : gpu_events_) {
    const auto call = calls_.find({work.process, work.correlation});
    all.add_call(work, call == calls_.end() ? 0 : call->second.second);
  }
  std::vector<OpRow> rows;
  rows.reserve(all.rows_.size());
  for (auto& [key, row] : all.rows_) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) { return a.seconds > b.seconds; });
  return rows;
}

std::map<std::string, GpuUtilization> OpTable::busy() const {
  std::map<std::string, std::vector<Work>> by_device;
  for (const Line& work : gpu_events_)
    by_device[work.device].push_back({work.start, work.start + work.seconds, work.category == "kernel"});
  std::map<std::string, GpuUtilization> all;
  for (auto& [device, works] : by_device) {
    std::sort(works.begin(), works.end(), [](const Work& a, const Work& b) { return a.start < b.start; });
    GpuUtilization busy;
    double any_until = works[0].start, compute_until = works[0].start, any = 0;
    for (const Work& work : works) {
      any += std::max(0.0, work.end - std::max(work.start, any_until));
      any_until = std::max(any_until, work.end);
      if (!work.computes) continue;
      busy.compute += std::max(0.0, work.end - std::max(work.start, compute_until));
      compute_until = std::max(compute_until, work.end);
    }
    busy.non_compute = any - busy.compute;
    busy.idle = any_until - works[0].start - any;
    all[device] = busy;
  }
  return all;
}

std::string OpTable::str() const {
  const std::vector<OpRow> all = rows();
  OpRow sum{.op = "all", .device = ""};
  for (const OpRow& row : all) {
    sum.count += row.count;
    sum.seconds += row.seconds;
    sum.bytes += row.bytes;
    sum.flops += row.flops;
  }
  std::string out = "operation              device   count    total share     mean   bytes     B/s  FLOP/s\n";
  for (const OpRow& row : all) out += format_row(row, sum.seconds);
  if (sum.count > 0) out += format_row(sum, sum.seconds);
  for (const auto& [device, busy] : busy()) {
    char text[200];
    const double total = std::max(busy.total(), 1e-12);
    std::snprintf(text, sizeof text,
                  "%s: %s from its first work to its last; computing %.1f %%, only copying %.1f %%, idle %.1f %%\n",
                  device.c_str(), seconds_text(busy.total()).c_str(), 100 * busy.compute / total,
                  100 * busy.non_compute / total, 100 * busy.idle / total);
    out += text;
  }
  return out;
}

std::vector<Sizes> parse_sizes(const std::string& tensors) {
  std::vector<Sizes> all;
  for (size_t open = tensors.find('('); open != std::string::npos; open = tensors.find('(', open + 1)) {
    const size_t close = tensors.find(')', open);
    TANDEM_CHECK(close != std::string::npos, "trace: '", tensors, "' has an unclosed parenthesis");
    Sizes sizes;
    const char* at = tensors.c_str() + open + 1;
    const char* const end = tensors.c_str() + close;
    while (at < end) {
      char* next = nullptr;
      const long long size = std::strtoll(at, &next, 10);
      TANDEM_CHECK(next != at && next <= end && size >= 0, "trace: '", tensors, "' has a size that is not a number");
      sizes.push_back(size);
      at = next;
      while (at < end && (*at == ',' || *at == ' ')) ++at;
    }
    all.push_back(std::move(sizes));
  }
  return all;
}

double estimate_flops(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes) {
  if (reads.size() < 2 || writes.empty()) return 0;
  if (op == "matmul") return reads[0].empty() ? 0 : 2 * numel(writes[0]) * static_cast<double>(reads[0].back());
  if (op == "conv2d") return 2 * numel(writes[0]) * macs_per_output(reads[1]);                // y from x, w
  if (op == "conv2d_backward_input") return 2 * numel(reads[0]) * macs_per_output(reads[1]);  // dx from dy, w
  if (op.starts_with("conv2d_backward_weight"))
    return 2 * numel(reads[0]) * macs_per_output(writes[0]);  // dw from dy, x
  return 0;
}

}  // namespace tandem::tools::trace
