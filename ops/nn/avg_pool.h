// Average pooling: avg_pool1d, avg_pool2d, avg_pool3d, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d.
// Namespace and names as in torch::; nn/pooling.h adds the option structs.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// Returns the mean of each window: the sum divided by the window's size, or by divisor_override. Padding counts as 0;
/// unless count_include_pad, it does not count towards the window's size. x is floating-point, or int64, whose means
/// are rounded towards 0. The other arguments are as in max_pool2d.
Tensor avg_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});
/// Returns the means of output_size windows that cover x (N, C, H, W) or (C, H, W). Along a dimension of size H, window
/// i of I spans the indices floor(i H / I) to ceil((i + 1) H / I) - 1.
Tensor adaptive_avg_pool2d(const Tensor& x, detail::Pair output_size);

// ---- composed of the above, for x (N, C, L) or (C, L), and (N, C, D, H, W) or (C, D, H, W). Results are contiguous.
/// avg_pool2d in one dimension: x (N, C, L) or (C, L).
Tensor avg_pool1d(const Tensor& x, detail::Single kernel_size, IntArrayRef stride = {}, detail::Single padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true);
/// avg_pool2d in three dimensions: x (N, C, D, H, W) or (C, D, H, W).
Tensor avg_pool3d(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {}, detail::Triple padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});
/// adaptive_avg_pool2d in one dimension: x (N, C, L) or (C, L).
Tensor adaptive_avg_pool1d(const Tensor& x, detail::Single output_size);
/// adaptive_avg_pool2d in three dimensions: x (N, C, D, H, W) or (C, D, H, W).
Tensor adaptive_avg_pool3d(const Tensor& x, detail::Triple output_size);

}  // namespace tandem
