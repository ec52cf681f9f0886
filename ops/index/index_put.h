// index_put and index_put_: write or add to the elements that index({...}) reads.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes `value`, which broadcasts, to the elements that x.index(indices) reads. A missing tensor in the list selects
/// the whole dimension. With `accumulate` values are added, and a position named twice receives both values. index_put
/// returns a changed copy.
Tensor& index_put_(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                   detail::Flag accumulate = false);
Tensor index_put(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                 detail::Flag accumulate = false);

}  // namespace tandem
