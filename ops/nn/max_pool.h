// Max pooling: max_pool1d, max_pool2d, max_pool3d, adaptive_max_pool1d to 3d, fractional_max_pool2d and 3d,
// max_unpool2d and 3d. Namespace and names as torch:: has them; nn/pooling.h adds the option structs.
#pragma once
#include <optional>
#include <vector>

#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// The largest element of each window; equal ones: the first.
/// @param x            (N, C, H, W) or (C, H, W), of a floating dtype
/// @param stride       the kernel's size unless given
/// @param padding      at most half the kernel; it counts as -infinity
/// @param ceil_mode    whether the last window may hang over the end
/// @return             (N, C, H', W'), channels-last where x is
/// @throws Error       for a window, stride or dilation that is not positive, and a window larger than the padded x
Tensor max_pool2d(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {}, detail::Pair padding = 0,
                  detail::Pair dilation = 1, detail::Flag ceil_mode = false);
/// (values, indices): max_pool2d, and where in its plane each value was, int64 in row-major order over (H, W); a window
/// of padding alone has index -1 and passes no gradient on.
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, detail::Pair kernel_size, IntArrayRef stride = {},
                                                   detail::Pair padding = 0, detail::Pair dilation = 1,
                                                   detail::Flag ceil_mode = false);

// ---- made of those: x (N, C, L) or (C, L), and (N, C, D, H, W) or (C, D, H, W). Results are row-major.
/// max_pool2d of x (N, C, L) or (C, L).
Tensor max_pool1d(const Tensor& x, int64_t kernel_size, IntArrayRef stride = {}, int64_t padding = 0,
                  int64_t dilation = 1, detail::Flag ceil_mode = false);
/// (values, indices): an index counts along L.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, int64_t kernel_size, IntArrayRef stride = {},
                                                   int64_t padding = 0, int64_t dilation = 1,
                                                   detail::Flag ceil_mode = false);
/// max_pool2d of x (N, C, D, H, W) or (C, D, H, W).
Tensor max_pool3d(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {}, detail::Triple padding = 0,
                  detail::Triple dilation = 1, detail::Flag ceil_mode = false);
/// (values, indices): an index counts in row-major order over (D, H, W).
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, detail::Triple kernel_size, IntArrayRef stride = {},
                                                   detail::Triple padding = 0, detail::Triple dilation = 1,
                                                   detail::Flag ceil_mode = false);
/// (values, indices): the largest of window i of I, from i size / I to (i + 1) size / I rounded up, along each of the
/// last dimensions. An index counts in row-major order over these dimensions; of equal elements the first one's.
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, int64_t output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, detail::Pair output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, detail::Triple output_size);

/// (values, indices): the largest of each window of kernel_size (Graham 2014, arXiv:1412.6071), whose places
/// random_samples (N, C, 2 or 3), in [0, 1) and of x's dtype, move: output_size of them, the last at the end. Indices
/// are as above. @throws Error unless output_size + kernel_size - 1 is at most the size of x
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, detail::Pair kernel_size, detail::Pair output_size,
                                                 const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, detail::Triple kernel_size,
                                                 detail::Triple output_size, const Tensor& random_samples);

/// The opposite of a max pool: 0 but for the elements of x, which stand where `indices` says, counted in row-major
/// order over output_size. Several at one place: any of them.
/// @param x            (N, C, H, W) or (C, H, W); of max_unpool3d (N, C, D, H, W) or (C, D, H, W)
/// @param indices      int64, of x's sizes
/// @param output_size  (H, W); of max_unpool3d (D, H, W)
/// stride and padding are LibTorch's arguments, which have no effect but are checked to be positive, and 0 or more.
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding);

namespace detail {
/// @throws Error unless output_size or ratios between 0 and 1 are given, and not both
void check_fraction(const char* op, bool has_output_size, ArrayRef<double> ratios);
/// fractional_max_pool2d and 3d, whose output sizes may be given as ratios of x's sizes. Random samples are drawn
/// unless given.
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& x, Pair kernel_size,
                                                              const std::optional<Pair>& output_size,
                                                              ArrayRef<double> output_ratio,
                                                              const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& x, Triple kernel_size,
                                                              const std::optional<Triple>& output_size,
                                                              ArrayRef<double> output_ratio,
                                                              const Tensor& random_samples);
/// The spatial sizes of the input of a max pool that gave x. output_size chooses among those that give x's sizes.
Shape unpooled_sizes(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                     const std::optional<std::vector<int64_t>>& output_size);
}  // namespace detail

}  // namespace tandem
