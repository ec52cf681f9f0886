// Type promotion: promote_types, result_type, can_cast.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the dtype that tensors of dtypes a and b promote to, if both have dimensions or neither has.
DType promote_types(DType a, DType b);
/// The dtype in which a and b are combined. A 0-dim tensor or a number changes it only by kind.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, const Scalar& b);
/// Whether `to` holds numbers of from's kind: any but a floating dtype as an integer, and a number as a bool.
bool can_cast(DType from, DType to);

}  // namespace tandem
