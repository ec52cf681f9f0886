// Reductions over the middle dimension of (outer, reduced, inner); callers bring every reduction to this form. The
// order of every sum depends on shapes only.
#pragma once
#include "tandem/kernels/declare.h"

/// x (outer, n, inner) contiguous -> y (outer, inner). Half types accumulate in float (y may be float32), float32 in
/// double if y is float64, integers and bool in int64 (then y is int64)
TANDEM_KERNEL(void sum(const Tensor& x, Tensor& y))
/// y = sum (x - center)^2 of a floating dtype, in float64, which can hold the square of any float. center (outer,
/// inner) is float64, or undefined, which means 0
TANDEM_KERNEL(void sum_of_squares_about(const Tensor& x, const Tensor& center, Tensor& y))
/// y = sum (|x| / scale)^p of a floating dtype, in float64. scale (outer, inner) has the dtype in which x is computed
TANDEM_KERNEL(void sum_of_powers(const Tensor& x, const Tensor& scale, double p, Tensor& y))
/// y (a single number) = sum of (x - target)^2 / divisor. x and target have the same number of elements, float32 or
/// float64
TANDEM_KERNEL(void squared_error(const Tensor& x, const Tensor& target, double divisor, Tensor& y))
namespace tandem::kernels::cuda {
/// y = sum / divisor, for floating dtypes, rounded once
void mean(const Tensor& x, double divisor, Tensor& y);
/// y (C) = sum / divisor over N and L. x (N, C, L) has a floating dtype and is not empty; y is float32 for half types
void channel_mean(const Tensor& x, double divisor, Tensor& y);
/// y = (sum of squared deviations from the channel's mean) / divisor or, if `root`, its square root
void channel_var(const Tensor& x, double divisor, bool root, Tensor& y);
}  // namespace tandem::kernels::cuda
TANDEM_KERNEL(void prod(const Tensor& x, Tensor& y))
TANDEM_KERNEL(void amax(const Tensor& x, Tensor& y))
TANDEM_KERNEL(void amin(const Tensor& x, Tensor& y))
/// y is bool
TANDEM_KERNEL(void any(const Tensor& x, Tensor& y))
TANDEM_KERNEL(void all(const Tensor& x, Tensor& y))
/// Also write the position of the extremum as int64: the first one among equal elements; NaN wins
TANDEM_KERNEL(void max_with_index(const Tensor& x, Tensor& y, Tensor& index))
TANDEM_KERNEL(void min_with_index(const Tensor& x, Tensor& y, Tensor& index))
/// Running sums along the middle dimension; y has x's shape and dtype. On the CPU floating dtypes accumulate in double;
/// on CUDA half types and float32 do in float, in tiles
TANDEM_KERNEL(void cumsum(const Tensor& x, bool reverse, Tensor& y))
/// Running products, and running ln(sum e^x), both computed in double; logcumsumexp is for floating dtypes
TANDEM_CPU_KERNEL(cumprod, const Tensor& x, Tensor& y)
TANDEM_CPU_KERNEL(logcumsumexp, const Tensor& x, Tensor& y)
namespace tandem::kernels {
/// Returns whether the device has cumprod and logcumsumexp.
inline bool has_running_products(Device device) { return device.is_cpu(); }
}  // namespace tandem::kernels
/// Sorts along the last dimension of (rows, n), stably; NaN counts as the largest
TANDEM_KERNEL(void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index))
/// Writes the first y.size(1) elements of each sorted row
TANDEM_KERNEL(void topk(const Tensor& x, bool largest, Tensor& y, Tensor& index))
