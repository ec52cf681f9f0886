// index_select: selects slices along a dimension at the positions that a 1-d index names.
// Indices are int64 or int32; a 0-dim x is indexed as one dimension of one element.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Slices of x along dim at the positions of a 1-d index. @throws IndexError on a position out of range
inline Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) { return x.index_select(dim, index); }

namespace detail {
/// index_select for the op that the user called.
Tensor select_rows(const char* op, const Tensor& from, int64_t dim, const Tensor& index);
}  // namespace detail

}  // namespace tandem
