// Implements parse_sizes and estimate_flops.
#include <cstdlib>
#include <functional>
#include <numeric>

#include "tandem/core/error.h"
#include "tandem/tools/trace/event.h"

namespace tandem::tools::trace {
namespace {
double numel(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>()); }

/// Returns the number of multiply-adds per output element of a convolution: input channels per group times the size of
/// the kernel window.
double macs_per_output(const Sizes& weight) { return weight.empty() || weight[0] == 0 ? 0 : numel(weight) / weight[0]; }

}  // namespace

std::vector<Sizes> parse_sizes(const std::string& tensors) {
  std::vector<Sizes> all;
  for (size_t open = tensors.find('('); open != std::string::npos; open = tensors.find('(', open + 1)) {
    const size_t close = tensors.find(')', open);
    TANDEM_CHECK(close != std::string::npos, "trace: the sizes '", tensors,
                 "' of an event have an unclosed parenthesis; accepted: as in (2, 3), (4)");
    Sizes sizes;
    const char* at = tensors.c_str() + open + 1;
    const char* const end = tensors.c_str() + close;
    while (at < end) {
      char* next = nullptr;
      const long long size = std::strtoll(at, &next, 10);
      TANDEM_CHECK(next != at && next <= end && size >= 0, "trace: the sizes '", tensors,
                   "' of an event have one that is not a number of 0 or more; accepted: as in (2, 3), (4)");
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

double estimate_flops(const Event& event) {
  if (event.reads.empty() && event.writes.empty()) return 0;
  return estimate_flops(event.name, parse_sizes(event.reads), parse_sizes(event.writes));
}

}  // namespace tandem::tools::trace
