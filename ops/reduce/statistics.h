// Statistics and scans that are made of other operations. Lists of dimensions are as in core/reduce_ops.h.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// How many elements are not 0, as int64: over all dimensions, some, or one.
inline Tensor count_nonzero(const Tensor& x, IntArrayRef dims = {}) { return x.count_nonzero(dims); }
/// The sum of the elements that are not NaN.
inline Tensor nansum(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nansum(dims, keepdim);
}
/// The mean of the elements that are not NaN, of floating-point numbers only.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims = {}, detail::Flag keepdim = false) {
  return x.nanmean(dims, keepdim);
}
/// (smallest, largest); equal ones share the gradient.
inline std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                          detail::Flag keepdim = false) {
  return x.aminmax(dim, keepdim);
}
/// nansum of x in another dtype.
inline Tensor nansum(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nansum(dims, keepdim, dtype);
}
/// nanmean of x in another dtype.
inline Tensor nanmean(const Tensor& x, IntArrayRef dims, detail::Flag keepdim, std::optional<DType> dtype) {
  return x.nanmean(dims, keepdim, dtype);
}
/// (deviation or variance, mean); divided by n - correction, a number or none, which is 1.
template <detail::OptionalNumber Correction>
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, const Correction& correction,
                                    detail::Flag keepdim = false) {
  return {x.std(dims, correction, keepdim), x.mean(dims, keepdim)};
}
template <detail::OptionalNumber Correction>
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, const Correction& correction,
                                    detail::Flag keepdim = false) {
  return {x.var(dims, correction, keepdim), x.mean(dims, keepdim)};
}
/// (deviation or variance, mean) of all elements or over some dims, divided by n - 1 or, unless unbiased, by n.
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag unbiased = true,
                                    detail::Flag keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag unbiased = true,
                                    detail::Flag keepdim = false);
/// The middle of the elements in order, of two the smaller one; a NaN wins, and nanmedian leaves NaNs out where there
/// is anything else. Equal ones share the gradient.
inline Tensor median(const Tensor& x) { return x.median(); }
inline Tensor nanmedian(const Tensor& x) { return x.nanmedian(); }
/// (medians, positions) along dim; the gradient goes to that position.
inline std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.median(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, detail::Flag keepdim = false) {
  return x.nanmedian(dim, keepdim);
}
/// (the k-th smallest, from 1 on, its position) along dim
inline std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.kthvalue(k, dim, keepdim);
}
/// The value below which a fraction q of the elements lies, along dim or of all. q is one number or a vector of them,
/// which becomes the first dimension; between two elements `interpolation` chooses: "linear", "lower", "higher",
/// "midpoint" or "nearest". A NaN wins. @throws Error unless x is float or double, q of its dtype and from 0 to 1
inline Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                       const std::string& interpolation = "linear") {
  return x.quantile(q, dim, keepdim, interpolation);
}
inline Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                       const std::string& interpolation = "linear") {
  return x.quantile(q, dim, keepdim, interpolation);
}
/// The product of the elements up to each one; of integers and bool int64. Computed in double on the CPU, in float32
/// on CUDA (float64 of float64).
inline Tensor cumprod(const Tensor& x, int64_t dim) { return x.cumprod(dim); }
inline Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) { return x.cumprod(dim, dtype); }
/// ln of the sum of e^x up to each one, without overflow, of floating-point numbers. Computed as cumprod is.
inline Tensor logcumsumexp(const Tensor& x, int64_t dim) { return x.logcumsumexp(dim); }
/// What each element differs from the one before, n times; of bool whether it does. `prepend` and `append`, if defined,
/// stand before and after x.
inline Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
                   const Tensor& append = {}) {
  return x.diff(n, dim, prepend, append);
}
/// The integral of y along dim by the trapezoidal rule, over the places x or in steps of dx; cumulative_trapezoid: up
/// to each element but the first.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
/// Another spelling of trapezoid.
inline Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1) { return trapezoid(y, x, dim); }
inline Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1) { return trapezoid(y, Scalar(dx), dim); }
/// The elements in ascending order along dimension 0.
inline Tensor msort(const Tensor& x) { return x.msort(); }
/// (values, positions) of the largest, and the smallest, element up to each one; of equal ones the last, and a NaN
/// wins.
inline std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) { return x.cummax(dim); }
inline std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) { return x.cummin(dim); }
/// (the element that is there most often, of several the smallest, the last of its positions) along dim. A NaN is
/// unequal to every other: it is chosen, the first of them, only where there is nothing else.
inline std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, detail::Flag keepdim = false) {
  return x.mode(dim, keepdim);
}
/// quantile of the elements that are not NaN; NaN where all are.
inline Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {},
                          detail::Flag keepdim = false, const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}
inline Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                          const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}
/// x with each slice along dim whose p-norm is above maxnorm made that short. @throws Error unless x is of two
/// dimensions or more, p is positive and maxnorm not negative
inline Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return x.renorm(p, dim, maxnorm);
}
/// The slope of x along each of dims (all, where none is named) by central differences, at the ends by one-sided ones
/// of order edge_order, 1 or 2. Its elements are `spacing` apart, one number for all dimensions or one for each, or lie
/// at places that vectors tell, one for each dimension. Of integers in the default floating dtype.
std::vector<Tensor> gradient(const Tensor& x, const std::optional<Scalar>& spacing = {},
                             std::optional<int64_t> dim = {}, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, const Scalar& spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList places, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList places, IntArrayRef dims, int64_t edge_order = 1);
/// Covariances of the rows of x (variables, observations), or the variance of one variable (a vector), divided by the
/// number of observations minus `correction`. fweights says how often each was made (integers), aweights how much it
/// counts.
inline Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) {
  return x.cov(correction, fweights, aweights);
}
/// Correlation coefficients of the rows of x, in [-1, 1].
inline Tensor corrcoef(const Tensor& x) { return x.corrcoef(); }

}  // namespace tandem
