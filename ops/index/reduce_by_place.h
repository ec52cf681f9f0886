// Sums, products, means and extremes of the elements whose indices name one position, for scatter_reduce and
// index_reduce. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

enum class Reduce { sum, prod, mean, amax, amin };
/// The reduction of that name. @throws Error that names op for any other name
Reduce parse_reduce(const char* op, const std::string& name, bool with_sum);
/// Indices that scatter_add would refuse are refused here, under this op's name.
void check_reduce_places(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source);
/// An index as far as gather and scatter reach, and source cut to it.
Tensor reduce_by_place(const char* op, const Tensor& x, int64_t d, const Tensor& index, const Tensor& source,
                       Reduce how, bool include_self);

}  // namespace tandem::detail
