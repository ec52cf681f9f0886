// Dropout: dropout, dropout2d, alpha_dropout, feature_alpha_dropout, native_dropout. Namespace and names as in torch::;
// nn/dropout.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Zeroes each element with probability p and scales the others by 1 / (1 - p). Returns x itself outside training.
Tensor dropout(const Tensor& x, double p = 0.5, detail::Flag training = true);
/// Like dropout, but zeroes whole channels of (N, C, ...).
Tensor dropout2d(const Tensor& x, double p = 0.5, detail::Flag training = true);
/// Alias of dropout2d.
inline Tensor feature_dropout(const Tensor& x, double p, detail::Flag training) { return dropout2d(x, p, training); }
/// Sets each element, or each channel of (N, C, ...), with probability p to SELU's lowest value, and then scales and
/// shifts all elements, so that mean 0 and variance 1 are preserved (Klambauer et al. 2017, arXiv:1706.02515).
Tensor alpha_dropout(const Tensor& x, double p, detail::Flag training);
Tensor feature_alpha_dropout(const Tensor& x, double p, detail::Flag training);
// In-place versions: write the result into x. @throws Error under the rules for in-place operations

Tensor& dropout_(Tensor& x, double p, detail::Flag training);
Tensor& feature_dropout_(Tensor& x, double p, detail::Flag training);
Tensor& alpha_dropout_(Tensor& x, double p, detail::Flag training);
Tensor& feature_alpha_dropout_(Tensor& x, double p, detail::Flag training);

/// Returns (y, mask): dropout, and a bool mask of the elements that were kept. If `train` is false, y is a copy of x
/// and the mask is true everywhere.
std::tuple<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train);

namespace detail {
/// Applies feature_dropout to x. If x has `batched` dimensions, the first one is the batch; otherwise x is a single
/// sample.
Tensor dropout_channels(Tensor x, int64_t batched, double p, bool training, bool inplace);
}  // namespace detail

}  // namespace tandem
