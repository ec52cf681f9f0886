// Cumulative operations along a dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The sums up to each element along dim, in x's sizes; of integers and bools int64, unless another dtype is given. On
/// the CPU running sums are double and rounded at each element; on CUDA half types and float32 are summed in float32.
inline Tensor cumsum(const Tensor& x, int64_t dim) { return x.cumsum(dim); }
inline Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumsum(dim, dtype); }
/// The product of the elements up to each one; of integers and bool int64. Computed in double on the CPU, in float32
/// on CUDA (float64 of float64).
inline Tensor cumprod(const Tensor& x, int64_t dim) { return x.cumprod(dim); }
inline Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumprod(dim, dtype); }
/// ln of the sum of e^x up to each one, without overflow, of floating-point numbers. Computed as cumprod is.
inline Tensor logcumsumexp(const Tensor& x, int64_t dim) { return x.logcumsumexp(dim); }
/// (values, positions) of the largest, and the smallest, element up to each one; of equal ones the last, and a NaN
/// wins.
inline std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) { return x.cummax(dim); }
inline std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) { return x.cummin(dim); }

}  // namespace tandem
