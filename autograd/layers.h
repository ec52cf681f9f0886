// Normalisation, pooling and dropout. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/autograd/loss.h"
#include "tandem/autograd/matmul.h"

namespace tandem {

/// Normalises each channel of x (N, C, ...). In training the batch's statistics are used, and running ones updated:
/// running = (1 - momentum) running + momentum batch, with the unbiased variance. Otherwise the running ones are used.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, Flag training, double momentum = 0.1, double eps = 1e-5);
/// Normalises over the last dimensions, whose sizes are normalized_shape
Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// x (N, C, H, W) or (C, H, W). stride: the kernel's size unless given. Padding counts as -infinity; a window of
/// padding alone has index -1 and passes no gradient on. With ceil_mode the last window may hang over the end.
Tensor max_pool2d(const Tensor& x, Pair kernel_size, IntArrayRef stride = {}, Pair padding = 0, Pair dilation = 1,
                  Flag ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, Pair kernel_size, IntArrayRef stride = {},
                                                   Pair padding = 0, Pair dilation = 1, Flag ceil_mode = false);
Tensor avg_pool2d(const Tensor& x, Pair kernel_size, IntArrayRef stride = {}, Pair padding = 0, Flag ceil_mode = false,
                  Flag count_include_pad = true);
Tensor adaptive_avg_pool2d(const Tensor& x, Pair output_size);

/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); x itself outside training.
Tensor dropout(const Tensor& x, double p = 0.5, Flag training = true);
/// As dropout, whole channels of (N, C, ...) at a time.
Tensor dropout2d(const Tensor& x, double p = 0.5, Flag training = true);

}  // namespace tandem
