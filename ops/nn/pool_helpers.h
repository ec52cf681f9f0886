// Helpers of pools: output sizes, images in the form that kernels take, and 1-d and 3-d pools as 2-d pools. Internal.
#pragma once
#include "tandem/kernels/pool.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/shape/tensor_properties.h"
#include "tandem/ops/shape/view.h"

namespace tandem::detail {

/// Returns the output size of a pool along one dimension, rounded as in PyTorch: a last window that would start in the
/// padding at the end is dropped.
inline int64_t pooling_output_size(const char* op, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                                   int64_t dilation, bool ceil) {
  TANDEM_CHECK(kernel > 0, op, ": kernel size should be greater than zero, but got ", kernel);
  TANDEM_CHECK(stride > 0, op, ": stride should be greater than zero, but got ", stride);
  TANDEM_CHECK(dilation > 0, op, ": dilation should be greater than zero, but got ", dilation);
  TANDEM_CHECK(padding >= 0, op, ": pad must be non-negative, but got pad: ", padding);
  TANDEM_CHECK(padding * 2 <= kernel, op,
               ": pad should be at most half of effective kernel size, but got pad=", padding, ", kernel_size=", kernel,
               " and dilation=", dilation, "; accepted: pad up to ", kernel / 2);
  TANDEM_CHECK(size > 0, op, ": x has no elements in a dimension that is pooled; only the batch size may be 0");
  // ceil_mode lets the last window extend beyond the end by less than a stride, so a window may be larger than the
  // padded size by as much.
  const int64_t range = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
  TANDEM_CHECK(range >= 0, op, ": Output size is too small: a window of ", dilation * (kernel - 1) + 1,
               " is larger than the padded size ", size + 2 * padding, ceil ? " by a stride or more" : "");
  int64_t out = range / stride + 1;
  if (ceil && (out - 1) * stride >= size + padding) --out;
  return out;
}
inline kernels::PoolShape make_pool_shape(Pair k, IntArrayRef stride, Pair p, Pair d, bool include) {
  const Pair s = stride.empty() ? k : Pair(stride);
  return {{k[0], k[1]}, {s[0], s[1]}, {p[0], p[1]}, {d[0], d[1]}, include};
}
/// Returns whether a pool takes x as channels-last and gives a channels-last result.
inline bool is_channels_last(const Tensor& x) { return x.suggest_memory_format() == MemoryFormat::ChannelsLast; }
/// Returns x in the form that kernels take: a channels-last image, or contiguous planes (planes, H, W).
inline Tensor to_pool_layout(const Tensor& x, bool channels_last) {
  const NoGradGuard guard;
  if (channels_last) return core::alias(x.contiguous(MemoryFormat::ChannelsLast));
  const int64_t planes = numel_of(x.sizes().slice(0, x.sizes().size() - 2));
  return core::try_view(x.contiguous(), {planes, x.size(-2), x.size(-1)});
}
/// Allocates images of size (h, w) in the form that kernels take, with the other sizes of x.
inline Tensor empty_pool_tensor(const Tensor& x, DType dtype, int64_t h, int64_t w) {
  if (x.dim() == 3) return core::empty({x.size(0), h, w}, dtype, x.device());
  const Shape sizes{x.size(0), x.size(1), h, w};
  return core::empty_dense(sizes, core::strides_of("pool", sizes, MemoryFormat::ChannelsLast), dtype, x.device());
}
/// Converts a kernel's output to the sizes of the result.
inline Tensor reshape_pool_output(const Tensor& y, IntArrayRef sizes) {
  return y.dim() == 4 ? y : core::try_view(y, sizes);
}

struct PoolInput {
  Tensor x;            // input of the pool, in the form that kernels take
  Shape output_sizes;  // sizes of the operation's result
  int64_t oh, ow;
  PoolInput(const char* op, const Tensor& input, const kernels::PoolShape& s, bool ceil, bool channels_last)
      : PoolInput(op, input, channels_last) {
    TANDEM_CHECK(
        input.size(-3) > 0, op,
        ": Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:", input.sizes());
    oh = pooling_output_size(op, x.size(-2), s.kernel[0], s.stride[0], s.padding[0], s.dilation[0], ceil);
    ow = pooling_output_size(op, x.size(-1), s.kernel[1], s.stride[1], s.padding[1], s.dilation[1], ceil);
    set_output_sizes();
  }
  PoolInput(const char* op, const Tensor& input, bool channels_last) {
    check_floating_point(op, input);
    TANDEM_CHECK(input.dim() == 3 || input.dim() == 4, op,
                 ": non-empty 3D or 4D (batch mode) tensor expected for input, but got ", input.sizes());
    output_sizes = input.sizes();
    x = to_pool_layout(input, channels_last);
  }
  void set_output_sizes() {
    output_sizes[output_sizes.size() - 2] = oh;
    output_sizes[output_sizes.size() - 1] = ow;
  }
  Tensor empty_output(DType dtype) const { return empty_pool_tensor(x, dtype, oh, ow); }
};

// ---- 1-d pools are 2-d pools with a height of 1
inline Tensor unsqueeze_height(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.dim() == 2 || x.dim() == 3, op,
               ": Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:", x.sizes());
  return x.contiguous().unsqueeze(-2);
}
inline Tensor squeeze_height(const Tensor& y) {
  Shape sizes = y.sizes();
  sizes.erase(sizes.size() - 2);
  return reshape_result(y, sizes);
}
inline Pair prepend_height_stride(const char* op, IntArrayRef stride, int64_t kernel) {
  TANDEM_CHECK(stride.size() <= 1, op, ": argument 'stride' should contain one int (got ", stride.size(), ")");
  return {1, stride.empty() ? kernel : stride[0]};
}

// ---- 3-d pools are a pool of each plane, followed by a pool of the results along the depth: of an image whose height
// is the depth, and whose width is the elements of a plane
inline Tensor volumes_to_planes(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.dim() == 4 || x.dim() == 5, op,
               ": non-empty 4D or 5D (batch mode) tensor expected for input, but got ", x.sizes());
  TANDEM_CHECK(x.size(-1) > 0 && x.size(-2) > 0 && x.size(-3) > 0 && x.size(-4) > 0, op,
               ": Expected input to have non-zero size for non-batch dimensions, but input has sizes ", x.sizes());
  const int64_t volumes = x.dim() == 5 ? x.size(0) * x.size(1) : x.size(0);
  return x.contiguous().view({volumes, x.size(-3), x.size(-2), x.size(-1)});
}
inline Tensor planes_to_depth_images(const Tensor& planes) { return planes.flatten(-2).unsqueeze(1); }
/// Reshapes y (volumes, depth, height x width) to the dimensions of x.
inline Tensor planes_to_volumes(const Tensor& y, const Tensor& x, const Tensor& planes) {
  Shape sizes = x.sizes();
  const size_t rank = sizes.size();
  sizes[rank - 3] = y.size(-2);
  sizes[rank - 2] = planes.size(-2);
  sizes[rank - 1] = planes.size(-1);
  return reshape_result(y, sizes);
}
inline Triple resolve_stride(const char* op, IntArrayRef stride, Triple kernel) {
  TANDEM_CHECK(stride.size() <= 1 || stride.size() == 3, op,
               ": stride must be omitted, a single int, or a tuple of three ints, but is ", stride);
  return stride.empty() ? kernel : Triple(stride);
}

}  // namespace tandem::detail
