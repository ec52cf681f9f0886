// Convolutions and their gradients: conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
// conv_tbc, convolution.
#include "tandem/ops/nn/convolution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tandem/kernels/convolution.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d,
                   convolution);

namespace {
/// Returns the shape of a convolution. It is channels-last if the images or the weights are, as in PyTorch; the operand
/// in another layout, in most cases the weight, is copied.
kernels::ConvShape make_conv_shape(const Tensor& images, const Tensor& other, Pair stride, Pair padding, Pair dilation,
                                   int64_t groups) {
  const auto suggests = [](const Tensor& t) { return t.suggest_memory_format() == MemoryFormat::ChannelsLast; };
  return {{stride[0], stride[1]},
          {padding[0], padding[1]},
          {dilation[0], dilation[1]},
          groups,
          suggests(images) || suggests(other)};
}
MemoryFormat memory_format_of(const kernels::ConvShape& s) {
  return s.channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}
Tensor empty_output(const char* op, IntArrayRef sizes, const Tensor& like, const kernels::ConvShape& s) {
  if (!s.channels_last) return core::empty(sizes, like.dtype(), like.device(), op);
  return core::empty_dense(sizes, core::strides_of(op, sizes, MemoryFormat::ChannelsLast), like.dtype(), like.device());
}
Tensor conv_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, const kernels::ConvShape& s);
Tensor conv_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, const kernels::ConvShape& s);
Tensor conv2d(const Tensor& x, const Tensor& weight, const kernels::ConvShape& s) {
  return tandem::conv2d(x, weight, {}, Pair(s.stride[0], s.stride[1]), Pair(s.padding[0], s.padding[1]),
                        Pair(s.dilation[0], s.dilation[1]), s.groups);
}
/// Computes conv2d for integers, as products of patches and kernels. Integers wrap on overflow.
Tensor conv2d_integers(const Tensor& x, const Tensor& weight, IntArrayRef out, Pair stride, Pair padding, Pair dilation,
                       int64_t groups) {
  Tensor patches = constant_pad_nd(x, {padding[1], padding[1], padding[0], padding[0]});
  for (int64_t d = 0; d < 2; ++d)  // after both iterations, the shape is (N, C, OH, OW, KH, KW)
    patches =
        patches.unfold(d + 2, dilation[d] * (weight.size(d + 2) - 1) + 1, stride[d]).slice(-1, 0, {}, dilation[d]);
  const int64_t each = weight.numel() / weight.size(0);  // number of elements in the patch that one kernel covers
  patches = patches.permute({0, 2, 3, 1, 4, 5}).reshape({-1, groups, each}).transpose(0, 1);
  const Tensor y = patches.bmm(weight.reshape({groups, -1, each}).transpose(1, 2)).transpose(0, 1);
  return y.reshape({out[0], out[2], out[3], out[1]}).permute({0, 3, 1, 2}).contiguous();
}
/// Joins sizes as LibTorch's messages do, for example "3 x 4".
std::string by(IntArrayRef sizes) {
  std::string text;
  for (const int64_t n : sizes) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}
/// Checks the number of dimensions of x and weight. @param spatial  number of spatial dimensions of an image
void check_dimensions(const char* op, const Tensor& x, const Tensor& weight, int64_t spatial) {
  TANDEM_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": Expected ", spatial + 1, "D (unbatched) or ",
               spatial + 2, "D (batched) input to ", op, ", but got input of size: ", x.sizes());
  TANDEM_CHECK(weight.dim() == spatial + 2, op, ": Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
               "-dimensional weight ", weight.sizes(), ", but got ", x.dim(), "-dimensional input of size ", x.sizes(),
               " instead");
}
void check_groups(const char* op, const Tensor& x, const Tensor& weight, int64_t groups, bool transposed) {
  TANDEM_CHECK(groups > 0, op, ": non-positive groups is not supported, got ", groups);
  TANDEM_CHECK(weight.size(0) >= groups, op, ": Given groups=", groups, ", expected weight to be at least ", groups,
               " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  TANDEM_CHECK(weight.size(0) % groups == 0, op, ": Given groups=", groups, ", expected weight to be divisible by ",
               groups, " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  const int64_t channels = transposed ? weight.size(0) : weight.size(1) * groups;
  TANDEM_CHECK(x.size(1) == channels, op, ": Given ", transposed ? "transposed" : "groups", "=",
               transposed ? 1 : groups, ", weight of size ", weight.sizes(), ", expected input", x.sizes(), " to have ",
               channels, " channels, but got ", x.size(1), " channels instead");
  TANDEM_CHECK(!transposed || weight.size(1) > 0, op, ": weight is ", weight.sizes(),
               "; it must have at least one output channel");
}
void check_bias(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t channels,
                bool transposed) {
  if (!bias.defined()) return;
  check_product_operands(op, x, bias);
  TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == channels, op, ": Given ", transposed ? "transposed=1, " : "",
               "weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ", channels,
               " elements, but got bias of size ", bias.sizes(), " instead");
}
void check_conv_params(const char* op, const Tensor& weight, IntArrayRef stride, IntArrayRef padding,
                       IntArrayRef dilation) {
  for (size_t i = 0; i < stride.size(); ++i) {
    TANDEM_CHECK(stride[i] > 0, op, ": non-positive stride is not supported, got ", stride);
    TANDEM_CHECK(padding[i] >= 0, op, ": negative padding is not supported, got ", padding);
    TANDEM_CHECK(dilation[i] > 0, op, ": dilation should be greater than zero, but got ", dilation);
    TANDEM_CHECK(weight.sizes()[i + 2] > 0, op, ": kernel size should be greater than zero, but got weight of size ",
                 weight.sizes());
  }
}
/// Checks that x has elements and that the kernel, spread by its dilation, fits into the padded x.
void check_kernel_fits(const char* op, const Tensor& x, const Tensor& weight, IntArrayRef padding,
                       IntArrayRef dilation) {
  Shape padded, kernel;
  bool fits = true;
  for (size_t i = 0; i < padding.size(); ++i) {
    padded.push_back(x.sizes()[i + 2] + 2 * padding[i]);
    kernel.push_back(dilation[i] * (weight.sizes()[i + 2] - 1) + 1);
    fits = fits && kernel[i] <= padded[i];
  }
  TANDEM_CHECK(fits, op, ": Calculated padded input size per channel: (", by(padded), "). Kernel size: (", by(kernel),
               "). Kernel size can't be greater than actual input size");
  for (const int64_t n : x.sizes().slice(2, padding.size()))
    TANDEM_CHECK(n > 0, op, ": Only zero batch or zero channel inputs are supported, but got input shape: ", x.sizes());
}
/// Checks the output padding and the output size `out` of a transposed convolution.
void check_conv_transpose(const char* op, const Tensor& x, IntArrayRef output_padding, IntArrayRef stride,
                          IntArrayRef dilation, const Shape& out) {
  const IntArrayRef in = x.sizes().slice(2, stride.size()), made = IntArrayRef(out).slice(2, stride.size());
  for (size_t i = 0; i < stride.size(); ++i) {
    TANDEM_CHECK(output_padding[i] >= 0, op, ": negative output_padding is not supported, got ", output_padding);
    TANDEM_CHECK(output_padding[i] < std::max(stride[i], dilation[i]), op,
                 ": output padding must be smaller than either stride or dilation, but got output_padding ",
                 output_padding, ", stride ", stride, " and dilation ", dilation);
    TANDEM_CHECK(in[i] > 0, op,
                 ": Only zero batch or zero channel inputs are supported, but got input shape: ", x.sizes());
    TANDEM_CHECK(made[i] > 0, op, ": Given input size per channel: (", by(in),
                 "). Calculated output size per channel: (", by(made), "). Output size is too small");
  }
}
}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding, Pair dilation,
              int64_t groups) {
  if (const Autocast cast{cast_policy::conv2d, x, weight, bias})
    return conv2d(cast(x), cast(weight), cast(bias), stride, padding, dilation, groups);
  check_product_operands("conv2d", x, weight);
  if (x.dim() == 3) {
    const Tensor y = conv2d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  check_dimensions("conv2d", x, weight, 2);
  check_groups("conv2d", x, weight, groups, /*transposed=*/false);
  check_bias("conv2d", x, weight, bias, weight.size(0), /*transposed=*/false);
  check_conv_params("conv2d", weight, stride, padding, dilation);
  check_kernel_fits("conv2d", x, weight, padding, dilation);
  Shape out{x.size(0), weight.size(0), 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t kernel_extent = dilation[i] * (weight.sizes()[i + 2] - 1) + 1,
                  padded_size = x.sizes()[i + 2] + 2 * padding[i];
    out[i + 2] = (padded_size - kernel_extent) / stride[i] + 1;
  }
  if (!x.is_floating_point()) {
    const Tensor y = conv2d_integers(x, weight, out, stride, padding, dilation, groups);
    return bias.defined() ? y + bias.view({-1, 1, 1}) : y;
  }
  const kernels::ConvShape shape = make_conv_shape(x, weight, stride, padding, dilation, groups);
  Tensor y = empty_output("conv2d", out, x, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_x = x.contiguous(memory_format_of(shape)), dense_w = weight.contiguous(memory_format_of(shape));
    const Tensor dense_bias = bias.defined() ? bias.contiguous() : Tensor();
    TANDEM_DISPATCH(x.device(), conv2d, dense_x, dense_w, dense_bias, shape, y);
  }
  return record_op("conv2d", y, {x, weight, bias}, {x, weight},
                   [shape](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor x = ctx.saved(0), w = ctx.saved(1);
                     Tensor dx, dw, db;
                     if (ctx.needs_grad(0)) dx = conv_backward_input(dy, w, x.sizes(), shape);
                     const bool together = ctx.needs_grad(1) && ctx.needs_grad(2) && !is_grad_enabled() &&
                                           kernels::has_conv2d_backward_weight_and_bias(dy, shape);
                     if (together) {
                       dw = empty_output("conv2d_backward_weight", w.sizes(), dy, shape);
                       db = core::empty({w.size(0)}, dy.dtype(), dy.device());
                       const Tensor dense_dy = dy.contiguous(memory_format_of(shape)),
                                    dense_x = x.contiguous(memory_format_of(shape));
                       TANDEM_DISPATCH(dy.device(), conv2d_backward_weight_and_bias, dense_dy, dense_x, shape, dw, db);
                     } else {
                       if (ctx.needs_grad(1)) dw = conv_backward_weight(dy, x, w.sizes(), shape);
                       if (ctx.needs_grad(2)) db = dy.sum({0, 2, 3});
                     }
                     return {ctx.attach_zero_derivative({0, 1}, dx), ctx.attach_zero_derivative({0, 1}, dw),
                             ctx.attach_zero_derivative({0, 1}, db)};
                   });
}

namespace {
Tensor conv_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes,
                           const kernels::ConvShape& shape) {
  Tensor dx = empty_output("conv2d_backward_input", x_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(memory_format_of(shape)),
                 dense_w = weight.contiguous(memory_format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_input, dense_dy, dense_w, shape, dx);
  }
  return record_op("conv2d_backward_input", dx, {dy, weight}, {dy, weight},
                   [shape](const BackwardContext& ctx, const Tensor& g) -> Grads {
                     // this gradient is linear in dy and in w: its derivatives are a convolution and a weight gradient
                     const Tensor dy = ctx.saved(0), w = ctx.saved(1);
                     return {ctx.needs_grad(0) ? conv2d(g, w, shape) : Tensor(),
                             ctx.needs_grad(1) ? conv_backward_weight(dy, g, w.sizes(), shape) : Tensor()};
                   });
}
Tensor conv_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes,
                            const kernels::ConvShape& shape) {
  Tensor dw = empty_output("conv2d_backward_weight", weight_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(memory_format_of(shape)), dense_x = x.contiguous(memory_format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_weight, dense_dy, dense_x, shape, dw);
  }
  return record_op("conv2d_backward_weight", dw, {dy, x}, {dy, x},
                   [shape](const BackwardContext& ctx, const Tensor& g) -> Grads {
                     const Tensor dy = ctx.saved(0), x = ctx.saved(1);
                     return {ctx.needs_grad(0) ? conv2d(x, g, shape) : Tensor(),
                             ctx.needs_grad(1) ? conv_backward_input(dy, g, x.sizes(), shape) : Tensor()};
                   });
}
}  // namespace

Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == weight.device(),
               "conv2d_backward_input: Expected all tensors to be on the same device, but got weight is on ",
               weight.device(), ", different from other tensors on ", dy.device());
  return conv_backward_input(dy, weight, x_sizes, make_conv_shape(dy, weight, stride, padding, dilation, groups));
}
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == x.device(),
               "conv2d_backward_weight: Expected all tensors to be on the same device, but got x is on ", x.device(),
               ", different from other tensors on ", dy.device());
  return conv_backward_weight(dy, x, weight_sizes, make_conv_shape(dy, x, stride, padding, dilation, groups));
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding,
                        Pair output_padding, int64_t groups, Pair dilation) {
  if (const Autocast cast{cast_policy::conv_transpose2d, x, weight, bias})
    return conv_transpose2d(cast(x), cast(weight), cast(bias), stride, padding, output_padding, groups, dilation);
  constexpr const char* kName = "conv_transpose2d";
  check_product_operands(kName, x, weight);
  check_floating_point(kName, x);
  if (x.dim() == 3) {
    const Tensor y = conv_transpose2d(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  check_dimensions(kName, x, weight, 2);
  check_groups(kName, x, weight, groups, /*transposed=*/true);
  check_conv_params(kName, weight, stride, padding, dilation);
  Shape out{x.size(0), weight.size(1) * groups, 0, 0};
  for (size_t i = 0; i < 2; ++i)
    out[i + 2] = (x.sizes()[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.sizes()[i + 2] - 1) +
                 output_padding[i] + 1;
  check_conv_transpose(kName, x, output_padding, stride, dilation, out);
  check_bias(kName, x, weight, bias, out[1], /*transposed=*/true);
  // If an output_padding reaches the stride, conv2d maps the output size to more pixels than x has. So x is padded with
  // zeros to this size.
  const Shape more{0, output_padding[1] / stride[1], 0, output_padding[0] / stride[0]};
  const auto whole = [more](const Tensor& image) {
    return more[1] + more[3] > 0 ? constant_pad_nd(image, more) : image;
  };
  Tensor y;
  {
    const NoGradGuard guard;
    y = conv2d_backward_input(whole(x), weight, out, stride, padding, dilation, groups);
    if (bias.defined()) y = y + bias.view({-1, 1, 1});
  }
  return record_op(kName, y, {x, weight, bias}, {x, weight},
                   [=](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor x = ctx.saved(0), w = ctx.saved(1);
                     Tensor dx, dw, db;
                     if (ctx.needs_grad(0)) {
                       dx = conv2d(dy, w, {}, stride, padding, dilation, groups);
                       if (more[1] + more[3] > 0) dx = constant_pad_nd(dx, {0, -more[1], 0, -more[3]});
                     }
                     if (ctx.needs_grad(1))
                       dw = conv2d_backward_weight(whole(x), dy, w.sizes(), stride, padding, dilation, groups);
                     if (ctx.needs_grad(2)) db = dy.sum({0, 2, 3});
                     return {ctx.attach_zero_derivative({0, 1}, dx), ctx.attach_zero_derivative({0, 1}, dw),
                             ctx.attach_zero_derivative({0, 1}, db)};
                   });
}

// ---- one dimension: 2-d convolutions of height 1
namespace {
/// Removes the height dimension of y, whose size is 1.
Tensor remove_height_dim(const Tensor& y) {
  Shape sizes(y.sizes());
  sizes.erase(sizes.size() - 2);
  return reshape_result(y, sizes);
}
}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, Single stride, Single padding, Single dilation,
              int64_t groups) {
  if (const Autocast cast{cast_policy::conv1d, x, weight, bias})
    return conv1d(cast(x), cast(weight), cast(bias), stride, padding, dilation, groups);
  check_dimensions("conv1d", x, weight, 1);
  return remove_height_dim(
      conv2d(x.unsqueeze(-2), weight.unsqueeze(-2), bias, {1, stride[0]}, {0, padding[0]}, {1, dilation[0]}, groups));
}
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, Single stride, Single padding,
                        Single output_padding, int64_t groups, Single dilation) {
  if (const Autocast cast{cast_policy::conv_transpose1d, x, weight, bias})
    return conv_transpose1d(cast(x), cast(weight), cast(bias), stride, padding, output_padding, groups, dilation);
  check_dimensions("conv_transpose1d", x, weight, 1);
  return remove_height_dim(conv_transpose2d(x.unsqueeze(-2), weight.unsqueeze(-2), bias, {1, stride[0]},
                                            {0, padding[0]}, {0, output_padding[0]}, groups, {1, dilation[0]}));
}

// ---- three dimensions, composed of 2-d convolutions: a volume is a row of images, and the layers of the kernel along
// the depth become additional channels
namespace {
Pair get_height_width(const Triple& t) { return {t[1], t[2]}; }
/// Reshapes images (N * D, channels, H, W) to volumes (N, channels, D, H, W).
Tensor images_to_volumes(const Tensor& images, int64_t batch, int64_t depth) {
  return images.reshape({batch, depth, images.size(1), images.size(2), images.size(3)}).transpose(1, 2);
}
Tensor volumes_to_images(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1), x.size(3), x.size(4)});
}
}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, Triple stride, Triple padding, Triple dilation,
              int64_t groups) {
  if (const Autocast cast{cast_policy::conv3d, x, weight, bias})
    return conv3d(cast(x), cast(weight), cast(bias), stride, padding, dilation, groups);
  constexpr const char* kName = "conv3d";
  check_product_operands(kName, x, weight);
  if (x.dim() == 4) {
    const Tensor y = conv3d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups);
    return reshape_result(y, y.sizes().slice(1, 4));
  }
  check_dimensions(kName, x, weight, 3);
  check_groups(kName, x, weight, groups, /*transposed=*/false);
  check_conv_params(kName, weight, stride, padding, dilation);
  check_bias(kName, x, weight, bias, weight.size(0), /*transposed=*/false);
  check_kernel_fits(kName, x, weight, padding, dilation);
  Shape out{x.size(0), weight.size(0), 0, 0, 0};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t kernel = weight.sizes()[i + 2], padded_size = x.sizes()[i + 2] + 2 * padding[i];
    const int64_t kernel_extent = dilation[i] * (kernel - 1) + 1;
    out[i + 2] = (padded_size - kernel_extent) / stride[i] + 1;
  }
  const int64_t layers = weight.size(2), depth = out[2];
  const Tensor padded = padding[0] ? constant_pad_nd(x, {0, 0, 0, 0, padding[0], padding[0]}) : x;
  std::vector<Tensor> taps;  // for each depth layer of the kernel, the part of x that it covers
  for (int64_t k = 0; k < layers; ++k)
    taps.push_back(padded.slice(2, k * dilation[0], k * dilation[0] + (depth - 1) * stride[0] + 1, stride[0]));
  // its shape is (N, C, KD, OD, H, W)
  const Tensor depth_patches = layers == 1 ? taps[0].unsqueeze(2) : stack(taps, 2);
  const Tensor images =
      depth_patches.permute({0, 3, 1, 2, 4, 5}).reshape({x.size(0) * depth, x.size(1) * layers, x.size(3), x.size(4)});
  const Tensor kernels = weight.reshape({weight.size(0), weight.size(1) * layers, weight.size(3), weight.size(4)});
  const Tensor y = conv2d(images, kernels, bias, get_height_width(stride), get_height_width(padding),
                          get_height_width(dilation), groups);
  return reshape_result(images_to_volumes(y, x.size(0), depth).contiguous(), out);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, Triple stride, Triple padding,
                        Triple output_padding, int64_t groups, Triple dilation) {
  if (const Autocast cast{cast_policy::conv_transpose3d, x, weight, bias})
    return conv_transpose3d(cast(x), cast(weight), cast(bias), stride, padding, output_padding, groups, dilation);
  constexpr const char* kName = "conv_transpose3d";
  check_product_operands(kName, x, weight);
  check_floating_point(kName, x);
  if (x.dim() == 4) {
    const Tensor y = conv_transpose3d(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation);
    return reshape_result(y, y.sizes().slice(1, 4));
  }
  check_dimensions(kName, x, weight, 3);
  check_groups(kName, x, weight, groups, /*transposed=*/true);
  check_conv_params(kName, weight, stride, padding, dilation);
  const int64_t channels = weight.size(1) * groups, layers = weight.size(2), depth = x.size(2), images = x.size(0);
  check_bias(kName, x, weight, bias, channels, /*transposed=*/true);
  Shape out{images, channels, 0, 0, 0};
  for (size_t i = 0; i < 3; ++i)
    out[i + 2] = (x.sizes()[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.sizes()[i + 2] - 1) +
                 output_padding[i] + 1;
  check_conv_transpose(kName, x, output_padding, stride, dilation, out);
  const Tensor kernels = weight.reshape({x.size(1), weight.size(1) * layers, weight.size(3), weight.size(4)});
  const Tensor spread = conv_transpose2d(volumes_to_images(x), kernels, {}, get_height_width(stride),
                                         get_height_width(padding), get_height_width(output_padding), groups,
                                         get_height_width(dilation));  // (N * D, O * KD, OH, OW)
  // Layer k of image d contributes to depth d * stride + k * dilation of the result, counted before padding is cut off.
  const TensorOptions positions = TensorOptions(kInt64).device(x.device());
  const Tensor at = arange(depth, positions).unsqueeze(1) * stride[0] + arange(layers, positions) * dilation[0];
  const int64_t whole = std::max((depth - 1) * stride[0] + (layers - 1) * dilation[0] + 1, padding[0] + out[2]);
  const Tensor parts = spread.reshape({images, depth, channels, layers, out[3], out[4]}).permute({0, 2, 1, 3, 4, 5});
  const Tensor sum = zeros({images, channels, whole, out[3], out[4]}, x.options())
                         .index_add(2, at.reshape({depth * layers}),
                                    parts.reshape({images, channels, depth * layers, out[3], out[4]}));
  const Tensor y = reshape_result(sum.narrow(2, padding[0], out[2]).clone(MemoryFormat::Contiguous), out);
  if (!bias.defined()) return y;
  Tensor total;
  {
    const NoGradGuard guard;
    total = y + bias.view({-1, 1, 1, 1});
  }
  return record_op("add", total, {y, bias, x, weight}, {}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {dy, ctx.needs_grad(1) ? ctx.attach_zero_derivative({2, 3}, dy.sum({0, 2, 3, 4})) : Tensor()};
  });
}

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  if (const Autocast cast{cast_policy::convolution, x, weight, bias})
    return convolution(cast(x), cast(weight), cast(bias), stride, padding, dilation, transposed, output_padding,
                       groups);
  const int64_t dims = weight.dim() - 2;
  TANDEM_CHECK(dims >= 1, "convolution: weight should have at least three dimensions, but has sizes ", weight.sizes());
  TANDEM_CHECK(dims <= 3, "convolution: weight is ", weight.sizes(), "; accepted: 3, 4 or 5 dimensions");
  const std::pair<const char*, IntArrayRef> lists[] = {
      {"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"output_padding", output_padding}};
  for (const auto& [name, list] : lists)
    TANDEM_CHECK(list.size() == 1 || static_cast<int64_t>(list.size()) == dims, "convolution: expected ", name,
                 " to be a single integer value or a list of ", dims,
                 " values to match the convolution dimensions, but got ", name, "=", list);
  if (dims == 1)
    return transposed ? conv_transpose1d(x, weight, bias, stride[0], padding[0], output_padding[0], groups, dilation[0])
                      : conv1d(x, weight, bias, stride[0], padding[0], dilation[0], groups);
  if (dims == 2)
    return transposed ? conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
                      : conv2d(x, weight, bias, stride, padding, dilation, groups);
  return transposed ? conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation)
                    : conv3d(x, weight, bias, stride, padding, dilation, groups);
}
Tensor detail::convolve_with_padding_mode(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                          IntArrayRef stride, std::string_view padding, IntArrayRef dilation,
                                          int64_t groups) {
  TANDEM_CHECK(padding == "valid" || padding == "same", op, ": Invalid padding string: '", padding,
               "'; accepted: \"valid\" and \"same\"");
  const auto spatial = static_cast<int64_t>(stride.size());
  check_dimensions(op, x, weight, spatial);
  Shape before(stride), excess;  // excess: what pad() adds at the end of each dimension, the last dimension first
  for (int64_t d = spatial; d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    TANDEM_CHECK(padding == "valid" || stride[i] == 1, op,
                 ": padding='same' is not supported for strided convolutions; strides are ", stride);
    const int64_t all = padding == "same" ? dilation[i] * (weight.size(d + 2) - 1) : 0;
    before[i] = all / 2;
    excess.push_back(0), excess.push_back(all % 2);
  }
  const bool is_even = std::all_of(excess.begin(), excess.end(), [](int64_t n) { return n == 0; });
  return convolution(is_even ? x : constant_pad_nd(x, excess), weight, bias, stride, before, dilation,
                     /*transposed=*/false, {0}, groups);
}
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad) {
  if (const Autocast cast{cast_policy::conv_tbc, x, weight, bias})
    return conv_tbc(cast(x), cast(weight), cast(bias), pad);
  TANDEM_CHECK(x.dim() == 3, "conv_tbc: Input must have 3 dims: time, batch, in_channel, but has sizes ", x.sizes());
  TANDEM_CHECK(weight.dim() == 3,
               "conv_tbc: Weight tensor must have 3 dims: kernel_width, in_channels, out_channels. Got sizes ",
               weight.sizes());
  const Tensor y = conv1d(x.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, 1, pad);
  return y.permute({2, 0, 1}).contiguous();
}

}  // namespace tandem
