// Sums that several reductions use: sums in a wider dtype, sums over dimensions that are not adjacent, sums over all
// dimensions but the channels, and sums of squares. Internal.
#pragma once
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

/// Returns the sum as `dtype`. If x has a half type and the sum is divided later, the sum should be taken as float32,
/// because it may overflow before the division.
Tensor sum_with_dtype(const Tensor& x, IntArrayRef dims, bool keepdim, DType dtype);
/// Returns sqrt(mean(x^2) + eps) over dims, with keepdim; float32 for half types. Squares are summed in double.
Tensor root_mean_square(const Tensor& x, IntArrayRef dims, double eps);

namespace detail {

/// Sums in two steps over dims that are not adjacent: first over the last run of adjacent dims, then over the others.
/// This avoids a copy that would bring the dims together. Returns an undefined tensor if one step suffices, and for
/// half types, whose partial sums would be rounded.
Tensor sum_in_two_steps(const Tensor& x, IntArrayRef dims, bool keepdim);
/// Records y as the sum of x over the dims of `mask`, divided by `divisor` if given. With a divisor, even 1, the
/// gradient is a new tensor, as in PyTorch.
Tensor record_sum(const char* op, const Tensor& y, const Tensor& x, unsigned mask, std::optional<double> divisor = {});
/// On CUDA, sums over all dims but the channels and divides, in one launch, because launches dominate the time of small
/// sums. Returns an undefined tensor on other devices, and for other dims.
Tensor sum_over_non_channels(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, double divisor);
/// Returns the sum of squares, or of squared deviations from the mean, in float64 and without a graph.
Tensor sum_of_squares(const ReducedDims& r, bool about_mean);

}  // namespace detail

}  // namespace tandem
