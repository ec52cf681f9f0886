// flops_of: parses a call's sizes, and multiplies them by the kernel's rule.
#include "tandem/tools/trace/flops.h"

#include <cstdlib>
#include <functional>
#include <numeric>

#include "tandem/core/error.h"

namespace tandem::tools::trace {
namespace {

double numel(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>()); }

/// Products for each element of a convolution's output: the input channels of a group times the kernel's area.
double per_output(const Sizes& weight) { return weight.empty() || weight[0] == 0 ? 0 : numel(weight) / weight[0]; }

}  // namespace

std::vector<Sizes> parse_sizes(const std::string& tensors) {
  std::vector<Sizes> all;
  for (size_t open = tensors.find('('); open != std::string::npos; open = tensors.find('(', open + 1)) {
    const size_t close = tensors.find(')', open);
    TANDEM_CHECK(close != std::string::npos, "trace: '", tensors, "' has an open parenthesis");
    Sizes sizes;
    const char* at = tensors.c_str() + open + 1;
    const char* const end = tensors.c_str() + close;
    while (at < end) {
      char* next = nullptr;
      const long long size = std::strtoll(at, &next, 10);
      TANDEM_CHECK(next != at && next <= end && size >= 0, "trace: '", tensors, "' has a size that is no number");
      sizes.push_back(size);
      at = next;
      while (at < end && (*at == ',' || *at == ' ')) ++at;
    }
    all.push_back(std::move(sizes));
  }
  return all;
}

double flops_of(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes) {
  if (reads.size() < 2 || writes.empty()) return 0;
  if (op == "matmul") return reads[0].empty() ? 0 : 2 * numel(writes[0]) * static_cast<double>(reads[0].back());
  if (op == "conv2d") return 2 * numel(writes[0]) * per_output(reads[1]);                            // x, w -> y
  if (op == "conv2d_backward_input") return 2 * numel(reads[0]) * per_output(reads[1]);              // dy, w -> dx
  if (op.starts_with("conv2d_backward_weight")) return 2 * numel(reads[0]) * per_output(writes[0]);  // dy, x -> dw
  return 0;
}

}  // namespace tandem::tools::trace
