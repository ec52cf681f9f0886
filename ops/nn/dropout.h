// Dropout: dropout, dropout2d, alpha_dropout, feature_alpha_dropout, native_dropout. Namespace and names as torch:: has
// them; nn/dropout.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself outside training.
Tensor dropout(const Tensor& x, double p = 0.5, detail::Flag training = true);
/// As dropout, whole channels of (N, C, ...) at a time.
Tensor dropout2d(const Tensor& x, double p = 0.5, detail::Flag training = true);
/// The same; LibTorch's name.
inline Tensor feature_dropout(const Tensor& x, double p, detail::Flag training) { return dropout2d(x, p, training); }
/// Sets each element, or each channel of (N, C, ...), with probability p to the value that SELU has far below 0,
/// and scales and shifts all so that mean 0 and variance 1 stay (Klambauer et al. 2017, arXiv:1706.02515).
Tensor alpha_dropout(const Tensor& x, double p, detail::Flag training);
Tensor feature_alpha_dropout(const Tensor& x, double p, detail::Flag training);
// The same, written over x. @throws Error as any change in place

Tensor& dropout_(Tensor& x, double p, detail::Flag training);
Tensor& feature_dropout_(Tensor& x, double p, detail::Flag training);
Tensor& alpha_dropout_(Tensor& x, double p, detail::Flag training);
Tensor& feature_alpha_dropout_(Tensor& x, double p, detail::Flag training);

/// (y, mask): dropout and where elements stayed. In evaluation, or without `train`, x and all of it.
std::tuple<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train);

namespace detail {
/// feature_dropout of x, which has a batch if it has `batched` dimensions, and is one image without a batch otherwise.
Tensor dropout_channels(Tensor x, int64_t batched, double p, bool training, bool inplace);
}  // namespace detail

}  // namespace tandem
