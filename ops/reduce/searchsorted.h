// Searching in sorted sequences: searchsorted and bucketize. They have no derivatives.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the index at which each value would be inserted into a sequence that ascends along its last dimension:
/// before the first element that is not less than the value, or, with `right` or side "right", after the last element
/// that is not greater. A sequence with several dimensions has a row for each row of values. `sorter`, if defined, is
/// the order that sorts the sequence. The result is int64, or int32 if out_int32; for a NaN it is the length of the
/// sequence. Dtypes promote.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, detail::Flag out_int32 = false,
                    detail::Flag right = false, std::optional<std::string_view> side = {}, const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, detail::Flag out_int32 = false,
                    detail::Flag right = false, std::optional<std::string_view> side = {}, const Tensor& sorter = {});
/// Returns, for each value, the index of the interval between ascending 1-d boundaries that contains the value. Same as
/// searchsorted with boundaries as the sequence.
Tensor bucketize(const Tensor& values, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);
Tensor bucketize(const Scalar& value, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);

namespace detail {
/// Returns s as a 0-dim tensor on x's device, in the dtype that s and x promote to.
Tensor wrapped_scalar_tensor(const Tensor& x, const Scalar& s);
}  // namespace detail

}  // namespace tandem
