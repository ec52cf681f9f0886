// Average pooling: avg_pool1d, avg_pool2d, avg_pool3d, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d.
// Namespace and names as torch:: has them; nn/pooling.h adds the option structs.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// The mean of each window: its sum divided by its size, without the padding unless count_include_pad, or by
/// divisor_override. The other arguments are max_pool2d's; padding counts as 0.
Tensor avg_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});
/// The means of output_size windows that cover x (N, C, H, W) or (C, H, W): window i of I goes from i H / I to
/// (i + 1) H / I, rounded up.
Tensor adaptive_avg_pool2d(const Tensor& x, detail::Pair output_size);

// ---- made of those: x (N, C, L) or (C, L), and (N, C, D, H, W) or (C, D, H, W). Results are row-major.
/// avg_pool2d of x (N, C, L) or (C, L).
Tensor avg_pool1d(const Tensor& x, int64_t kernel_size, IntArrayRef stride = {}, int64_t padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true);
/// avg_pool2d of x (N, C, D, H, W) or (C, D, H, W).
Tensor avg_pool3d(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {}, detail::Triple padding = 0,
                  detail::Flag ceil_mode = false, detail::Flag count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});
/// adaptive_avg_pool2d of x (N, C, L) or (C, L).
Tensor adaptive_avg_pool1d(const Tensor& x, int64_t output_size);
/// adaptive_avg_pool2d of x (N, C, D, H, W) or (C, D, H, W).
Tensor adaptive_avg_pool3d(const Tensor& x, detail::Triple output_size);

}  // namespace tandem
