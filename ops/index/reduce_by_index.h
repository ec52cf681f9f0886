// Sums, products, means and extremes of the elements that an index assigns to the same position, for scatter_reduce and
// index_reduce. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

enum class ScatterReduction { sum, prod, mean, amax, amin };
/// Returns the reduction named `name`. "sum" is accepted only if with_sum. @throws Error that names op for any other
/// name
ScatterReduction parse_scatter_reduction(const char* op, const std::string& name, bool with_sum);
/// Checks the sizes, dtypes and devices of the operands as scatter_add would. @throws Error that names op
void check_reduce_index(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source);
/// Reduces the elements of source into x along dimension d. index may be smaller than x and source, as in gather and
/// scatter; source is cut to its sizes.
Tensor reduce_by_index(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source,
                       ScatterReduction how, bool include_self);

}  // namespace tandem::detail
