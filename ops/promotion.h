// Type promotion: promote_types, result_type, can_cast.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the dtype that tensors of dtypes a and b promote to, if both have dimensions or neither has.
DType promote_types(DType a, DType b);
/// Returns the dtype in which a and b are combined. A 0-dim tensor or a number changes it only if its category (bool,
/// integer, floating point) is higher than the other operand's.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, const Scalar& b);
DType result_type(const Scalar& a, const Tensor& b);
DType result_type(const Scalar& a, const Scalar& b);
/// Returns whether values of dtype `from` may be cast to dtype `to`. A floating dtype cannot become an integer one, and
/// only bool can become bool.
bool can_cast(DType from, DType to);

}  // namespace tandem
