// index_select: selects slices along a dimension at the positions that a 1-d index names.
// Indices are int64 or int32; a 0-dim x is indexed as one dimension of one element.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the slices of x along dim at the positions that a 1-d index lists. @throws IndexError if a position is out
/// of range
inline Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) { return x.index_select(dim, index); }

namespace detail {
/// Implements index_select. Error messages name the calling operation, `op`.
Tensor select_rows(const char* op, const Tensor& from, int64_t dim, const Tensor& index);
}  // namespace detail

}  // namespace tandem
