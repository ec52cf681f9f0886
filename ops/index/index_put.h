// index_put and index_put_: write or add to the elements that index({...}) reads.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reads, or writes `value` (which broadcasts) to, the places that several index tensors point to together; an entry
/// that is missing stands for all of its dimension. With `accumulate` values are added, to what comes twice twice.
Tensor& index_put_(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                   detail::Flag accumulate = false);
Tensor index_put(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value,
                 detail::Flag accumulate = false);

}  // namespace tandem
