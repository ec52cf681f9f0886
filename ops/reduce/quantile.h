// Quantiles: quantile and nanquantile, over all elements or along a dimension.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

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
/// quantile of the elements that are not NaN; NaN where all are.
inline Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = {},
                          detail::Flag keepdim = false, const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}
inline Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = {}, detail::Flag keepdim = false,
                          const std::string& interpolation = "linear") {
  return x.nanquantile(q, dim, keepdim, interpolation);
}

}  // namespace tandem
