// Checks of indices and sources, and conversion of negative positions to non-negative ones. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Converts negative positions, which count from the end of n elements, to non-negative ones.
Tensor wrap_negative_indices(const Tensor& positions, int64_t n);
/// Checks the index of gather or scatter and returns it as int64. An index without elements is accepted in any shape.
Tensor check_gather_index(const char* op, const Tensor& x, int64_t dim, const Tensor& index);
/// Returns whether tensors of the sizes a and b broadcast.
bool is_broadcastable(IntArrayRef a, IntArrayRef b);
/// Checks the index of an operation on slices. @throws Error unless index has at most one dimension, and one element if
/// x is 0-dim
void check_vector_index(const char* op, const Tensor& x, const Tensor& index);
/// Checks the sizes of source. @throws Error unless source has x's sizes, except index.numel() slices along dim
void check_source_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);

}  // namespace tandem::detail
