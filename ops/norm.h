// Normalisation. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises each channel of x (N, C, ...). In training the batch's statistics are used, and running ones updated:
/// running = (1 - momentum) running + momentum batch, with the unbiased variance. Otherwise the running ones are used.
/// Channels-last x gives a channels-last result.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, detail::Flag training, double momentum = 0.1, double eps = 1e-5);
/// Normalises over the last dimensions, whose sizes are normalized_shape
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tandem
