// Quantiles: quantile and nanquantile, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the q-quantile along dim, or of all elements: the value below which a fraction q of the elements lies. q is
/// a number or a vector; a vector adds a first dimension to the result. Between two elements `interpolation` decides:
/// "linear", "lower", "higher", "midpoint" or "nearest". The result is NaN if there is a NaN.
/// @throws Error unless x is float32 or float64 and has elements, and q has x's dtype and is in [0, 1] (the range of a
/// q on a GPU is not checked)
inline Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                       const std::string& interpolation = "linear") {
  return x.quantile(q, dim, keepdim, interpolation);
}
inline Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                       const std::string& interpolation = "linear") {
  return x.quantile(q, dim, keepdim, interpolation);
}
/// Returns quantiles of the elements that are not NaN; NaN if all are.
inline Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {},
                          detail::Flag keepdim = false, const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}
inline Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                          const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}

}  // namespace tandem
