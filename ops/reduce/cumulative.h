// Cumulative operations along a dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the cumulative sums along dim, with x's sizes. The dtype is int64 for integers and bool, unless another
/// dtype is given. On the CPU sums are double, and are rounded at each element; on CUDA half types and float32 are
/// summed in float32.
inline Tensor cumsum(const Tensor& x, int64_t dim) { return x.cumsum(dim); }
inline Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumsum(dim, dtype); }
/// Returns the cumulative products along dim. The dtype is int64 for integers and bool, unless another dtype is given.
/// Computed in double on the CPU; on CUDA in float32, or in float64 for float64.
inline Tensor cumprod(const Tensor& x, int64_t dim) { return x.cumprod(dim); }
inline Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumprod(dim, dtype); }
/// Returns the logarithms of the cumulative sums of e^x along dim, without overflow, for floating dtypes. Precision as
/// in cumprod.
inline Tensor logcumsumexp(const Tensor& x, int64_t dim) { return x.logcumsumexp(dim); }
/// Returns (values, indices) of the largest (cummax) or smallest (cummin) element so far along dim. If several are
/// equal, the last one's index is returned. A NaN propagates.
inline std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) { return x.cummax(dim); }
inline std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) { return x.cummin(dim); }

}  // namespace tandem
