// Searching in sorted sequences: searchsorted and bucketize. They have no derivatives.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Where each value would be put into a sequence that ascends along its last dimension: before what is not less than
/// it, or with `right` (side "right") behind what is not more. A sequence of more than one dimension has a row for each
/// row of values. `sorter`, if defined, is the order that sorts the sequence. int64, or int32 where that is asked for;
/// of a NaN the sequence's length. dtypes promote.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, detail::Flag out_int32 = false,
                    detail::Flag right = false, const std::optional<std::string>& side = {}, const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, detail::Flag out_int32 = false,
                    detail::Flag right = false, const std::optional<std::string>& side = {}, const Tensor& sorter = {});
/// searchsorted in boundaries of one dimension, which ascend: the number of the interval that each value falls into.
Tensor bucketize(const Tensor& values, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);
Tensor bucketize(const Scalar& value, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);

namespace detail {
/// s as a tensor of no dimension on x's device, in the dtype that both promote to.
Tensor number_beside(const Tensor& x, const Scalar& s);
}  // namespace detail

}  // namespace tandem
