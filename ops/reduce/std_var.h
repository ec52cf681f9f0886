// Standard deviations and variances: std, var, std_mean, var_mean. core/reduce_ops.h says how lists of dimensions are
// given.
#pragma once
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the variance over dims, sum (x - mean)^2 / (n - correction), for floating dtypes. Mean and squares are kept
/// in double (for half types, the mean comes from a float32 sum) and the result is rounded once, so std is accurate if
/// its result fits x's dtype. On CUDA, each thread subtracts its first element from its other elements, and rounds
/// these differences to float32.
/// @param correction  a number, or nullopt for 1
template <detail::OptionalNumber Correction>
Tensor var(const Tensor& x, IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) {
  return x.var(dims, correction, keepdim);
}
/// Returns the standard deviation over dims: the square root of var with the same arguments.
template <detail::OptionalNumber Correction>
Tensor std(const Tensor& x, IntArrayRef dims, const Correction& correction, detail::Flag keepdim = false) {
  return x.std(dims, correction, keepdim);
}
/// Returns the variance of all elements or over dims: sum (x - mean)^2 / (n - 1), or / n unless unbiased. It is NaN if
/// there are too few elements.
inline Tensor var(const Tensor& x) { return x.var(); }
template <std::same_as<bool> Bool> Tensor var(const Tensor& x, Bool unbiased) { return x.var(unbiased); }
inline Tensor var(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.var(dims, unbiased, keepdim);
}
/// Returns the standard deviation: the square root of var with the same arguments.
inline Tensor std(const Tensor& x) { return x.std(); }
template <std::same_as<bool> Bool> Tensor std(const Tensor& x, Bool unbiased) { return x.std(unbiased); }
inline Tensor std(const Tensor& x, IntArrayRef dims, detail::Flag unbiased = true, detail::Flag keepdim = false) {
  return x.std(dims, unbiased, keepdim);
}
/// Returns (standard deviation or variance, mean) over dims. correction is a number, or nullopt for 1, as in var.
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
/// Returns (standard deviation or variance, mean) of all elements or over dims. The divisor is n - 1, or n unless
/// unbiased.
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag unbiased = true,
                                    detail::Flag keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims = {}, detail::Flag unbiased = true,
                                    detail::Flag keepdim = false);

}  // namespace tandem
