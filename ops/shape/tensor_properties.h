// Properties of a tensor, as functions: is_floating_point, is_signed, is_inference, numel, size, stride.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Functions that call the methods of the same name.

inline bool is_signed(const Tensor& x) { return x.is_signed(); }
inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline bool is_inference(const Tensor& x) { return x.is_inference(); }
inline int64_t numel(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline int64_t stride(const Tensor& x, int64_t dim) { return x.stride(dim); }

}  // namespace tandem
