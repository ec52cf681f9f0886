// Reductions over the middle dimension of (outer, n, inner); callers bring every reduction to this form. The order of
// every sum depends on shapes only.
#pragma once
#include "tandem/kernels/declare.h"

/// Sums x (outer, n, inner), which is contiguous, to y (outer, inner). Half types are summed in float (y may be
/// float32), float32 in double if y is float64, and integers and bool in int64 (then y is int64)
TANDEM_DECLARE_KERNEL(void sum(const Tensor& x, Tensor& y))
/// y = sum of (x - center)^2 for x of a floating dtype. Computed in float64, which can hold the square of any float.
/// center (outer, inner) is float64, or undefined, which means 0
TANDEM_DECLARE_KERNEL(void sum_of_squares_about(const Tensor& x, const Tensor& center, Tensor& y))
/// y = sum of (|x| / scale)^p for x of a floating dtype. Each power is computed in x's dtype (float for half types),
/// and their sum in float64. scale (outer, inner) has the dtype of the powers
TANDEM_DECLARE_KERNEL(void sum_of_powers(const Tensor& x, const Tensor& scale, double p, Tensor& y))
/// y (a single number) = sum of (x - target)^2, divided by divisor. x and target have the same number of elements, and
/// are float32 or float64
TANDEM_DECLARE_KERNEL(void squared_error(const Tensor& x, const Tensor& target, double divisor, Tensor& y))
namespace tandem::kernels::cuda {
/// y = sum of x, divided by divisor and rounded once, for floating dtypes
void mean(const Tensor& x, double divisor, Tensor& y);
/// y (C) = sum of x over N and L, divided by divisor. x (N, C, L) has a floating dtype and is not empty; y is float32
/// for half types
void channel_mean(const Tensor& x, double divisor, Tensor& y);
/// y (C) = sum of squared deviations of x (N, C, L) from the channel's mean, divided by divisor. If `is_std`, y is the
/// square root of this
void channel_var(const Tensor& x, double divisor, bool is_std, Tensor& y);
}  // namespace tandem::kernels::cuda
TANDEM_DECLARE_KERNEL(void prod(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void amax(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void amin(const Tensor& x, Tensor& y))
/// y is bool
TANDEM_DECLARE_KERNEL(void any(const Tensor& x, Tensor& y))
TANDEM_DECLARE_KERNEL(void all(const Tensor& x, Tensor& y))
/// Write the maximum (or minimum) to y, and its position as int64 to index: the position of the first among equal
/// elements, or of the first NaN if there is one
TANDEM_DECLARE_KERNEL(void max_with_index(const Tensor& x, Tensor& y, Tensor& index))
TANDEM_DECLARE_KERNEL(void min_with_index(const Tensor& x, Tensor& y, Tensor& index))
/// Running sums along the middle dimension; y has x's shape and dtype. On the CPU, floating dtypes are summed in
/// double. On CUDA, half types and float32 are summed in float, in tiles
TANDEM_DECLARE_KERNEL(void cumsum(const Tensor& x, bool reverse, Tensor& y))
/// Running products, and running ln(sum e^x). Floating dtypes are computed in double; logcumsumexp supports only
/// floating dtypes
TANDEM_DECLARE_CPU_KERNEL(cumprod, const Tensor& x, Tensor& y)
TANDEM_DECLARE_CPU_KERNEL(logcumsumexp, const Tensor& x, Tensor& y)
namespace tandem::kernels {
/// Returns whether the device has the kernels cumprod and logcumsumexp.
inline bool has_cumprod(Device device) { return device.is_cpu(); }
}  // namespace tandem::kernels
/// Sorts along the last dimension of x (rows, n), stably, and writes the positions of the elements to index. NaN counts
/// as the largest element
TANDEM_DECLARE_KERNEL(void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index))
/// Writes the first y.size(1) elements of each sorted row to y, and their positions to index
TANDEM_DECLARE_KERNEL(void topk(const Tensor& x, bool largest, Tensor& y, Tensor& index))
