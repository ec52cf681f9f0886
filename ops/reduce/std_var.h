// Standard deviations and variances: std, var, std_mean and var_mean.
// core/reduce_ops.h says how a list of dimensions is given.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

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

}  // namespace tandem
