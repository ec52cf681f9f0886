// How many floating-point operations a call of a kernel is, from the sizes of its tensors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::tools::trace {

using Sizes = std::vector<int64_t>;

/// Tensors as a trace has them, "float32(2, 3) float32(3,)". @throws Error on any other text
std::vector<Sizes> parse_sizes(const std::string& tensors);
/// Products and convolutions, forward and backward: two operations for each product of two numbers that is added up, as
/// PyTorch's profiler counts. 0 of all others: what they cost is memory, not arithmetic.
double flops_of(const std::string& op, const std::vector<Sizes>& reads, const std::vector<Sizes>& writes);

}  // namespace tandem::tools::trace
