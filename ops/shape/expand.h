// Broadcasting views: broadcast_to, broadcast_tensors, expand_copy. Tensor::expand is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

inline Tensor broadcast_to(const Tensor& x, IntArrayRef sizes) { return x.expand(sizes); }
/// Expands all tensors to the shape that they broadcast to. @throws Error if they do not broadcast
std::vector<Tensor> broadcast_tensors(TensorList tensors);
/// expand() as a contiguous copy.
inline Tensor expand_copy(const Tensor& x, IntArrayRef list) { return x.expand(list).clone(MemoryFormat::Contiguous); }

}  // namespace tandem
