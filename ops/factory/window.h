// Window functions of signal processing: bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window.
// Each returns a vector of window_length weights, of the default floating dtype unless the options set another.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// In the formulas n = 0, 1, ... is the index and N is window_length - 1. A periodic window is the window of length
// window_length + 1 without its last weight, so N is window_length; it suits Fourier transforms. A window of length 1
// is {1}.
// @throws Error for an integer dtype or a negative length

/// Returns the weights 1 - |2 n / N - 1|.
Tensor bartlett_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options = {});
inline Tensor bartlett_window(int64_t window_length, const TensorOptions& options = {}) {
  return bartlett_window(window_length, true, options);
}
/// Returns the weights 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).
Tensor blackman_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options = {});
inline Tensor blackman_window(int64_t window_length, const TensorOptions& options = {}) {
  return blackman_window(window_length, true, options);
}
/// Returns the weights alpha - beta cos(2 pi n / N).
Tensor hamming_window(int64_t window_length, detail::Flag periodic, double alpha, double beta,
                      const TensorOptions& options = {});
inline Tensor hamming_window(int64_t window_length, detail::Flag periodic, double alpha,
                             const TensorOptions& options = {}) {
  return hamming_window(window_length, periodic, alpha, 0.46, options);
}
inline Tensor hamming_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options = {}) {
  return hamming_window(window_length, periodic, 0.54, 0.46, options);
}
inline Tensor hamming_window(int64_t window_length, const TensorOptions& options = {}) {
  return hamming_window(window_length, true, 0.54, 0.46, options);
}
/// Returns the weights 0.5 - 0.5 cos(2 pi n / N).
Tensor hann_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options = {});
inline Tensor hann_window(int64_t window_length, const TensorOptions& options = {}) {
  return hann_window(window_length, true, options);
}
/// Returns the weights I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), where I0 is the modified Bessel function of order
/// 0.
/// @throws Error if beta is not within -700 to 700
Tensor kaiser_window(int64_t window_length, detail::Flag periodic, double beta, const TensorOptions& options = {});
inline Tensor kaiser_window(int64_t window_length, detail::Flag periodic, const TensorOptions& options = {}) {
  return kaiser_window(window_length, periodic, 12.0, options);
}
inline Tensor kaiser_window(int64_t window_length, const TensorOptions& options = {}) {
  return kaiser_window(window_length, true, 12.0, options);
}

}  // namespace tandem
