// Sums that several reductions use: over dimensions that are not adjacent, over all but the channels, in a wider dtype,
// of squares. Internal.
#pragma once
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

/// The sum as `dtype`: float32 of a half type is for what would not fit it before it is divided.
Tensor sum_as(const Tensor& x, IntArrayRef dims, bool keepdim, DType dtype);
/// sqrt(mean x^2 + eps) over dims, which stay with size 1; float32 of half types. The squares are summed in double.
Tensor root_mean_square(const Tensor& x, IntArrayRef dims, double eps);

namespace detail {

/// Sums over dims that do not lie together, the last run of them first: what a copy would bring together is never
/// copied. Undefined where one sum will do, and for half types, whose partial results would be rounded.
Tensor sum_in_turn(const Tensor& x, IntArrayRef dims, bool keepdim);
/// y as the sum of x over the dims of `mask`, divided by a number if there is one. Its gradient is then a new tensor,
/// also by 1, as PyTorch's is.
Tensor record_sum(const char* op, const Tensor& y, const Tensor& x, unsigned mask, std::optional<double> divisor = {});
/// On CUDA, where launches are what small sums cost: the sum over the channels' elements, divided by a number, in one
/// pass. Undefined elsewhere, and where the dims lie otherwise.
Tensor sum_around(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, double divisor);
/// The sum of squares, or of squared deviations from the mean, in float64 and without history.
Tensor sum_of_squares(const ReducedDims& r, bool about_mean);

}  // namespace detail

}  // namespace tandem
