// Reductions and scans. Those over several dims accept them in any order; an empty list means all.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

// core/reduce_ops.h says what they compute. The forms with `out` are as those of ops/elementwise/elementwise.h.
#define TANDEM_DECLARE(name, ...)                                                            \
  inline Tensor name(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) { \
    return x.name(dims, keepdim);                                                            \
  }                                                                                          \
  Tensor& name##_out(Tensor& out, const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false);
TANDEM_REDUCE_OPS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
/// In another dtype, to which the elements are converted first.
inline Tensor sum(const Tensor& x, DType dtype) { return x.sum(dtype); }
inline Tensor sum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.sum(dims, keepdim, dtype);
}
/// In another dtype, a floating one, to which the elements are converted first.
inline Tensor mean(const Tensor& x, DType dtype) { return x.mean(dtype); }
inline Tensor mean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.mean(dims, keepdim, dtype);
}
/// The variance over some dims: sum (x - mean)^2 / (n - correction), of floating dtypes. Mean and squares are kept in
/// double and the result is rounded once, so std is accurate if its result fits x's dtype. On CUDA a thread's
/// deviations from its first element are rounded to float32.
/// @param correction  a number or none, which is 1
template <detail::OptionalNumber Correction>
Tensor var(const Tensor& x, IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) {
  return x.var(dims, correction, keepdim);
}
/// The square root of that variance.
template <detail::OptionalNumber Correction>
Tensor std(const Tensor& x, IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) {
  return x.std(dims, correction, keepdim);
}
/// The variance of all elements or over some dims: sum (x - mean)^2 / (n - 1), or / n unless unbiased; NaN for too few
/// elements.
inline Tensor var(const Tensor& x) { return x.var(); }
template <std::same_as<bool> Bool> Tensor var(const Tensor& x, Bool unbiased) { return x.var(unbiased); }
inline Tensor var(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.var(dims, unbiased, keepdim);
}
/// The standard deviation: the square root of var with the same arguments.
inline Tensor std(const Tensor& x) { return x.std(); }
template <std::same_as<bool> Bool> Tensor std(const Tensor& x, Bool unbiased) { return x.std(unbiased); }
inline Tensor std(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.std(dims, unbiased, keepdim);
}
/// The largest and the smallest element of all; a NaN wins. Equal ones share the gradient evenly.
/// @throws IndexError where there is no element
inline Tensor max(const Tensor& x) { return x.max(); }
inline Tensor min(const Tensor& x) { return x.min(); }
/// maximum(a, b) and minimum(a, b), elementwise.
inline Tensor max(const Tensor& a, const Tensor& b) { return a.maximum(b); }
inline Tensor min(const Tensor& a, const Tensor& b) { return a.minimum(b); }
/// (values, positions); of several equal extremes the first, and the gradient goes to that one.
inline std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.max(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.min(dim, keepdim);
}
/// Where the largest element is, int64: along dim, or without one among all elements in row-major order. Of equal ones
/// the first; a NaN wins.
inline Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmax(dim, keepdim);
}
/// Where the smallest element is, as argmax.
inline Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, detail::Flag keepdim = false) {
  return x.argmin(dim, keepdim);
}
/// all: whether every element is other than 0; any: whether at least one is. Of everything, along one dimension or over
/// several; bool, or uint8 of uint8.
#define TANDEM_DECLARE(name)                                                                                      \
  inline Tensor name(const Tensor& x) { return x.name(); }                                                        \
  inline Tensor name(const Tensor& x, int64_t dim, detail::Flag keepdim = false) { return x.name(dim, keepdim); } \
  inline Tensor name(const Tensor& x, IntArrayRef dims, detail::Flag keepdim = false) { return x.name(dims, keepdim); }
TANDEM_DECLARE(all)
TANDEM_DECLARE(any)
#undef TANDEM_DECLARE
/// The product of all elements, or along dim; of integers and bools int64, unless another dtype is given.
inline Tensor prod(const Tensor& x) { return x.prod(); }
inline Tensor prod(const Tensor& x, DType dtype) { return x.prod(dtype); }
inline Tensor prod(const Tensor& x, int64_t dim, detail::Flag keepdim = false, std::optional<DType> dtype = {}) {
  return x.prod(dim, keepdim, dtype);
}
/// The sums up to each element along dim, in x's sizes; of integers and bools int64, unless another dtype is given. On
/// the CPU running sums are double and rounded at each element; on CUDA half types and float32 are summed in float32.
inline Tensor cumsum(const Tensor& x, int64_t dim) { return x.cumsum(dim); }
inline Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumsum(dim, dtype); }
/// (sum |x|^p)^(1/p) of real numbers, all or over some dims; p may be infinite, but for no elements only 0 or more. For
/// p = 2 squares are summed in double; for other p elements are divided by the largest first. So a norm of float32 or
/// a half type, and its gradient, is accurate if the result fits the dtype; for p = 1 sums are float32.
inline Tensor norm(const Tensor& x, double p = 2) { return x.norm(p); }
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.norm(p, dims, keepdim);
}
inline Tensor norm(const Tensor& x, double p, IntArrayRef dims, detail::Flag keepdim, DType dtype) {
  return x.norm(p, dims, keepdim, dtype);
}
/// (values, positions) along dim in ascending or descending order; NaNs count as largest. Equal elements keep their
/// order, whether or not `stable` asks for it.
inline std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.sort(dim, descending);
}
template <std::same_as<bool> Bool>
std::tuple<Tensor, Tensor> sort(const Tensor& x, Bool, int64_t dim, detail::Flag descending) {
  return x.sort(dim, descending);
}
template <std::same_as<std::optional<bool>> Stable>
std::tuple<Tensor, Tensor> sort(const Tensor& x, Stable, int64_t dim = -1, detail::Flag descending = false) {
  return x.sort(dim, descending);
}
/// The positions that sort gives.
inline Tensor argsort(const Tensor& x, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
template <std::same_as<bool> Bool>
Tensor argsort(const Tensor& x, Bool, int64_t dim = -1, detail::Flag descending = false) {
  return x.argsort(dim, descending);
}
/// (values, positions) of the k largest or smallest elements along dim, in order. @throws Error unless k is 0 to the
/// size
inline std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag largest = true,
                                       detail::Flag sorted = true) {
  return x.topk(k, dim, largest, sorted);
}

/// Whether |a - b| <= atol + rtol |b| everywhere; false where the sizes differ. NaNs differ unless equal_nan.
/// @throws Error where the dtypes differ, or the sizes do not broadcast
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return a.allclose(b, rtol, atol, equal_nan);
}
/// Whether both have the same sizes and elements. A NaN is equal to nothing.
inline bool equal(const Tensor& a, const Tensor& b) { return a.equal(b); }

}  // namespace tandem
