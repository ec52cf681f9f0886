// Max pooling: max_pool1d, max_pool2d, max_pool3d; adaptive_max_pool in 1, 2 and 3 dimensions; fractional_max_pool and
// max_unpool in 2 and 3 dimensions. Namespace and names as in torch::; nn/pooling.h adds the option structs.
#pragma once
#include <optional>
#include <vector>

#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// Returns the largest element of each window. Of several equal elements, the first gets the gradient.
/// @param x            (N, C, H, W) or (C, H, W), floating point or integers
/// @param stride       defaults to the kernel size
/// @param padding      at most half the kernel size; padding counts as -infinity
/// @param ceil_mode    whether the last window may extend beyond the end
/// @return             (N, C, H', W'), channels-last if x is
/// @throws Error       if a window, stride or dilation is not positive, or a window is larger than the padded x
Tensor max_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Pair dilation = 1, detail::Flag ceil_mode = false);
/// Returns (values, indices): the result of max_pool2d, and the position of each value in its plane, an int64 in
/// row-major order over (H, W). A window that contains only padding has index -1 and passes no gradient on.
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {},
                                                   detail::Pair padding = 0, detail::Pair dilation = 1,
                                                   detail::Flag ceil_mode = false);

// ---- composed of the above, for x (N, C, L) or (C, L), and (N, C, D, H, W) or (C, D, H, W). Results are contiguous.
/// max_pool2d in one dimension: x (N, C, L) or (C, L).
Tensor max_pool1d(const Tensor& x, detail::Single kernel_size, IntArrayRef stride = {}, detail::Single padding = 0,
                  detail::Single dilation = 1, detail::Flag ceil_mode = false);
/// Returns (values, indices). An index is the position along L.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, detail::Single kernel_size, IntArrayRef stride = {},
                                                   detail::Single padding = 0, detail::Single dilation = 1,
                                                   detail::Flag ceil_mode = false);
/// max_pool2d in three dimensions: x (N, C, D, H, W) or (C, D, H, W).
Tensor max_pool3d(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {}, detail::Triple padding = 0,
                  detail::Triple dilation = 1, detail::Flag ceil_mode = false);
/// Returns (values, indices). An index is the position in row-major order over (D, H, W).
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {},
                                                   detail::Triple padding = 0, detail::Triple dilation = 1,
                                                   detail::Flag ceil_mode = false);
/// Returns (values, indices): the largest elements of output_size windows that cover the last dimensions. Along a
/// dimension of size H, window i of I spans the indices floor(i H / I) to ceil((i + 1) H / I) - 1. Indices count in
/// row-major order over these dimensions. If several elements are equal, the first is chosen.
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, detail::Single output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, detail::Pair output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, detail::Triple output_size);

/// Returns (values, indices) of max pooling over output_size windows of kernel_size at random positions (Graham 2014,
/// arXiv:1412.6071). random_samples (N, C, 2 or 3) of x's dtype, in [0, 1), determine the positions; the last window is
/// at the end. Indices count as in adaptive_max_pool2d.
/// @throws Error unless output_size + kernel_size - 1 is at most the size of x
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, detail::Pair kernel_size, detail::Pair output_size,
                                                 const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, detail::Triple kernel_size,
                                                 detail::Triple output_size, const Tensor& random_samples);

/// Inverts a max pool: writes the elements of x to the positions `indices`, counted in row-major order over
/// output_size, in a tensor of zeros. If several elements have the same position, any one of them is kept. stride and
/// padding, which LibTorch requires, have no effect; stride must be positive, and padding must not be negative.
/// @param x            (N, C, H, W) or (C, H, W); for max_unpool3d (N, C, D, H, W) or (C, D, H, W)
/// @param indices      int64, with x's sizes
/// @param output_size  (H, W); for max_unpool3d (D, H, W)
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding);

namespace detail {
/// @throws Error unless either output_size or ratios are given, and the ratios are between 0 and 1
void check_output_size_or_ratio(const char* op, bool has_output_size, ArrayRef<double> ratios);
/// fractional_max_pool2d and fractional_max_pool3d whose output size may be given as ratios of x's sizes. Random
/// samples are drawn if random_samples is undefined.
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& x, Pair kernel_size,
                                                              const std::optional<Pair>& output_size,
                                                              ArrayRef<double> output_ratio,
                                                              const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& x, Triple kernel_size,
                                                              const std::optional<Triple>& output_size,
                                                              ArrayRef<double> output_ratio,
                                                              const Tensor& random_samples);
/// Returns the spatial sizes of the input of the max pool whose output was x. Several sizes are possible; output_size
/// selects one of them.
Shape unpool_output_size(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                         const std::optional<std::vector<int64_t>>& output_size);
}  // namespace detail

}  // namespace tandem
