// Convolutions and their gradients: conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
// conv_tbc, convolution.
#include "tandem/ops/nn/convolution.h"

#include "tandem/kernels/convolution.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d,
                   convolution);

namespace {
/// Returns the shape of a convolution. It is channels-last if the images or the weights are, as in PyTorch; the operand
/// in another layout, in most cases the weight, is copied.
kernels::ConvShape conv_shape(const Tensor& images, const Tensor& other, Pair stride, Pair padding, Pair dilation,
                              int64_t groups) {
  const auto suggests = [](const Tensor& t) { return t.suggest_memory_format() == MemoryFormat::ChannelsLast; };
  return {{stride[0], stride[1]},
          {padding[0], padding[1]},
          {dilation[0], dilation[1]},
          groups,
          suggests(images) || suggests(other)};
}
MemoryFormat format_of(const kernels::ConvShape& s) {
  return s.channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}
Tensor make(const char* op, IntArrayRef sizes, const Tensor& like, const kernels::ConvShape& s) {
  if (!s.channels_last) return core::empty(sizes, like.dtype(), like.device(), op);
  return core::empty_dense(sizes, core::strides_of(op, sizes, MemoryFormat::ChannelsLast), like.dtype(), like.device());
}
Tensor backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, const kernels::ConvShape& s);
Tensor backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, const kernels::ConvShape& s);
Tensor conv2d(const Tensor& x, const Tensor& weight, const kernels::ConvShape& s) {
  return tandem::conv2d(x, weight, {}, Pair(s.stride[0], s.stride[1]), Pair(s.padding[0], s.padding[1]),
                        Pair(s.dilation[0], s.dilation[1]), s.groups);
}
/// Computes conv2d for integers, as products of patches and kernels. Integers wrap on overflow.
Tensor of_integers(const Tensor& x, const Tensor& weight, IntArrayRef out, Pair stride, Pair padding, Pair dilation,
                   int64_t groups) {
  Tensor patches = constant_pad_nd(x, {padding[1], padding[1], padding[0], padding[0]});
  for (int64_t d = 0; d < 2; ++d)  // resulting shape: (N, C, OH, OW, KH, KW)
    patches =
        patches.unfold(d + 2, dilation[d] * (weight.size(d + 2) - 1) + 1, stride[d]).slice(-1, 0, {}, dilation[d]);
  const int64_t each = weight.numel() / weight.size(0);  // number of elements of a patch that a kernel covers
  patches = patches.permute({0, 2, 3, 1, 4, 5}).reshape({-1, groups, each}).transpose(0, 1);
  const Tensor y = patches.bmm(weight.reshape({groups, -1, each}).transpose(1, 2)).transpose(0, 1);
  return y.reshape({out[0], out[2], out[3], out[1]}).permute({0, 3, 1, 2}).contiguous();
}
}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding, Pair dilation,
              int64_t groups) {
  check_operands("conv2d", x, weight);
  if (x.dim() == 3) {
    const Tensor y = conv2d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  TANDEM_CHECK(x.dim() == 4 && weight.dim() == 4, "conv2d: x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, H, W) and (O, C / groups, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0 && weight.size(0) > 0,
               "conv2d: x is ", x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; x must have groups * weight.size(1) channels, and weight.size(0) must be a positive multiple "
               "of groups");
  if (bias.defined()) {
    check_operands("conv2d", x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "conv2d: bias is ", bias.sizes(), "; accepted: (",
                 weight.size(0), ",)");
  }
  Shape out{x.size(0), weight.size(0), 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    TANDEM_CHECK(stride[i] > 0 && padding[i] >= 0 && dilation[i] > 0, "conv2d: stride ", IntArrayRef(stride),
                 ", padding ", IntArrayRef(padding), ", dilation ", IntArrayRef(dilation),
                 "; stride and dilation must be positive, padding not negative");
    TANDEM_CHECK(weight.sizes()[i + 2] > 0 && x.sizes()[i + 2] > 0, "conv2d: x is ", x.sizes(), " and weight is ",
                 weight.sizes(), "; both must have height and width");
    const int64_t reach = dilation[i] * (weight.sizes()[i + 2] - 1) + 1, held = x.sizes()[i + 2] + 2 * padding[i];
    TANDEM_CHECK(reach <= held, "conv2d: the kernel covers ", reach, " pixels, but there are only ", held,
                 ", padding included, in a dimension of x, which is ", x.sizes());
    out[i + 2] = (held - reach) / stride[i] + 1;
  }
  if (!x.is_floating_point()) {
    const Tensor y = of_integers(x, weight, out, stride, padding, dilation, groups);
    return bias.defined() ? y + bias.view({-1, 1, 1}) : y;
  }
  const kernels::ConvShape shape = conv_shape(x, weight, stride, padding, dilation, groups);
  Tensor y = make("conv2d", out, x, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_x = x.contiguous(format_of(shape)), dense_w = weight.contiguous(format_of(shape));
    const Tensor dense_bias = bias.defined() ? bias.contiguous() : Tensor();
    TANDEM_DISPATCH(x.device(), conv2d, dense_x, dense_w, dense_bias, shape, y);
  }
  return record("conv2d", y, {x, weight, bias}, {x, weight}, [shape](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), w = ctx.saved(1);
    Tensor dx, dw, db;
    if (ctx.needs_grad(0)) dx = backward_input(dy, w, x.sizes(), shape);
    const bool together = ctx.needs_grad(1) && ctx.needs_grad(2) && !is_grad_enabled() &&
                          kernels::has_conv2d_backward_weight_and_bias(dy, shape);
    if (together) {
      dw = make("conv2d_backward_weight", w.sizes(), dy, shape);
      db = core::empty({w.size(0)}, dy.dtype(), dy.device());
      const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_x = x.contiguous(format_of(shape));
      TANDEM_DISPATCH(dy.device(), conv2d_backward_weight_and_bias, dense_dy, dense_x, shape, dw, db);
    } else {
      if (ctx.needs_grad(1)) dw = backward_weight(dy, x, w.sizes(), shape);
      if (ctx.needs_grad(2)) db = dy.sum({0, 2, 3});
    }
    return {ctx.flat_in({0, 1}, dx), ctx.flat_in({0, 1}, dw), ctx.flat_in({0, 1}, db)};
  });
}

namespace {
Tensor backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, const kernels::ConvShape& shape) {
  Tensor dx = make("conv2d_backward_input", x_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_w = weight.contiguous(format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_input, dense_dy, dense_w, shape, dx);
  }
  return record("conv2d_backward_input", dx, {dy, weight}, {dy, weight},
                [shape](const Context& ctx, const Tensor& g) -> Grads {
                  const Tensor dy = ctx.saved(0), w = ctx.saved(1);  // the gradient is linear in dy and in w
                  return {ctx.needs_grad(0) ? conv2d(g, w, shape) : Tensor(),
                          ctx.needs_grad(1) ? backward_weight(dy, g, w.sizes(), shape) : Tensor()};
                });
}
Tensor backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, const kernels::ConvShape& shape) {
  Tensor dw = make("conv2d_backward_weight", weight_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_x = x.contiguous(format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_weight, dense_dy, dense_x, shape, dw);
  }
  return record("conv2d_backward_weight", dw, {dy, x}, {dy, x}, [shape](const Context& ctx, const Tensor& g) -> Grads {
    const Tensor dy = ctx.saved(0), x = ctx.saved(1);
    return {ctx.needs_grad(0) ? conv2d(x, g, shape) : Tensor(),
            ctx.needs_grad(1) ? backward_input(dy, g, x.sizes(), shape) : Tensor()};
  });
}
}  // namespace

Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == weight.device(), "conv2d_backward_input: dy is on ", dy.device(), " and weight on ",
               weight.device(), "; both must be on one device");
  return backward_input(dy, weight, x_sizes, conv_shape(dy, weight, stride, padding, dilation, groups));
}
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == x.device(), "conv2d_backward_weight: dy is on ", dy.device(), " and x on ", x.device(),
               "; both must be on one device");
  return backward_weight(dy, x, weight_sizes, conv_shape(dy, x, stride, padding, dilation, groups));
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding,
                        Pair output_padding, int64_t groups, Pair dilation) {
  constexpr const char* kName = "conv_transpose2d";
  check_operands(kName, x, weight);
  check_real(kName, x);
  if (x.dim() == 3) {
    const Tensor y = conv_transpose2d(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  TANDEM_CHECK(x.dim() == 4 && weight.dim() == 4, kName, ": x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, H, W) and (C, O / groups, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(0) && x.size(1) % groups == 0 && weight.numel() > 0, kName,
               ": x is ", x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; weight.size(0) must be the number of x's channels, and a multiple of groups, and no size 0");
  Shape out{x.size(0), weight.size(1) * groups, 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    TANDEM_CHECK(stride[i] > 0 && padding[i] >= 0 && dilation[i] > 0, kName, ": stride ", IntArrayRef(stride),
                 ", padding ", IntArrayRef(padding), ", dilation ", IntArrayRef(dilation),
                 "; stride and dilation must be positive, padding not negative");
    TANDEM_CHECK(output_padding[i] >= 0 && output_padding[i] < std::max(stride[i], dilation[i]), kName,
                 ": output_padding ", IntArrayRef(output_padding),
                 "; accepted: 0 and more, and less than the larger of ", "stride ", IntArrayRef(stride),
                 " and dilation ", IntArrayRef(dilation));
    const int64_t pixels = x.sizes()[i + 2], kernel = weight.sizes()[i + 2];
    out[i + 2] = (pixels - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + output_padding[i] + 1;
    TANDEM_CHECK(pixels > 0 && kernel > 0 && out[i + 2] > 0, kName, ": x is ", x.sizes(), " and weight is ",
                 weight.sizes(), ", with padding ", IntArrayRef(padding), " the result would have ", out[i + 2],
                 " pixels; accepted: 1 and more, of an image and a kernel with height and width");
  }
  if (bias.defined()) {
    check_operands(kName, x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == out[1], kName, ": bias is ", bias.sizes(), "; accepted: (", out[1],
                 ",)");
  }
  // conv2d maps the output size back to x's size only if output_padding is less than the stride; otherwise x is
  // extended by pixels of zeros.
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
  return record(kName, y, {x, weight, bias}, {x, weight}, [=](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), w = ctx.saved(1);
    Tensor dx, dw, db;
    if (ctx.needs_grad(0)) {
      dx = conv2d(dy, w, {}, stride, padding, dilation, groups);
      if (more[1] + more[3] > 0) dx = constant_pad_nd(dx, {0, -more[1], 0, -more[3]});
    }
    if (ctx.needs_grad(1)) dw = conv2d_backward_weight(whole(x), dy, w.sizes(), stride, padding, dilation, groups);
    if (ctx.needs_grad(2)) db = dy.sum({0, 2, 3});
    return {ctx.flat_in({0, 1}, dx), ctx.flat_in({0, 1}, dw), ctx.flat_in({0, 1}, db)};
  });
}

// ---- one dimension: 2-d convolutions of height 1
namespace {
void check_one_dimension(const char* op, const Tensor& x, const Tensor& weight) {
  TANDEM_CHECK((x.dim() == 2 || x.dim() == 3) && weight.dim() == 3, op, ": x is ", x.sizes(), " and weight is ",
               weight.sizes(), "; accepted: (N, C, L) or (C, L), and a weight of three dimensions");
}
/// Removes the height dimension of y, whose size is 1.
Tensor without_height(const Tensor& y) {
  Shape sizes(y.sizes());
  sizes.erase(sizes.size() - 2);
  return reshape_result(y, sizes);
}
}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups) {
  check_one_dimension("conv1d", x, weight);
  return without_height(
      conv2d(x.unsqueeze(-2), weight.unsqueeze(-2), bias, {1, stride}, {0, padding}, {1, dilation}, groups));
}
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                        int64_t output_padding, int64_t groups, int64_t dilation) {
  check_one_dimension("conv_transpose1d", x, weight);
  return without_height(conv_transpose2d(x.unsqueeze(-2), weight.unsqueeze(-2), bias, {1, stride}, {0, padding},
                                         {0, output_padding}, groups, {1, dilation}));
}

// ---- three dimensions, composed of 2-d convolutions: a volume is a row of images, and the layers of the kernel along
// the depth become additional channels
namespace {
Pair plane(const Triple& t) { return {t[1], t[2]}; }
void check_numbers(const char* op, const Triple& stride, const Triple& padding, const Triple& dilation) {
  for (size_t i = 0; i < 3; ++i)
    TANDEM_CHECK(stride[i] > 0 && padding[i] >= 0 && dilation[i] > 0, op, ": stride ", IntArrayRef(stride),
                 ", padding ", IntArrayRef(padding), ", dilation ", IntArrayRef(dilation),
                 "; stride and dilation must be positive, padding not negative");
}
void check_bias(const char* op, const Tensor& x, const Tensor& bias, int64_t channels) {
  if (!bias.defined()) return;
  check_operands(op, x, bias);
  TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == channels, op, ": bias is ", bias.sizes(), "; accepted: (", channels,
               ",)");
}
/// Reshapes images (N * D, channels, H, W) to volumes (N, channels, D, H, W).
Tensor to_volumes(const Tensor& images, int64_t batch, int64_t depth) {
  return images.reshape({batch, depth, images.size(1), images.size(2), images.size(3)}).transpose(1, 2);
}
Tensor to_images(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1), x.size(3), x.size(4)});
}
}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, Triple stride, Triple padding, Triple dilation,
              int64_t groups) {
  constexpr const char* kName = "conv3d";
  check_operands(kName, x, weight);
  if (x.dim() == 4) {
    const Tensor y = conv3d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups);
    return reshape_result(y, y.sizes().slice(1, 4));
  }
  TANDEM_CHECK(x.dim() == 5 && weight.dim() == 5, kName, ": x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, D, H, W) and (O, C / groups, KD, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0 && weight.size(0) > 0,
               kName, ": x is ", x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; x must have groups * weight.size(1) channels, and weight.size(0) must be a positive multiple "
               "of groups");
  check_numbers(kName, stride, padding, dilation);
  check_bias(kName, x, bias, weight.size(0));
  Shape out{x.size(0), weight.size(0), 0, 0, 0};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t kernel = weight.sizes()[i + 2], held = x.sizes()[i + 2] + 2 * padding[i];
    const int64_t reach = dilation[i] * (kernel - 1) + 1;
    TANDEM_CHECK(kernel > 0 && x.sizes()[i + 2] > 0, kName, ": x is ", x.sizes(), " and weight is ", weight.sizes(),
                 "; both must have depth, height and width");
    TANDEM_CHECK(reach <= held, kName, ": the kernel covers ", reach, " elements, but there are only ", held,
                 ", padding included, in a dimension of x, which is ", x.sizes());
    out[i + 2] = (held - reach) / stride[i] + 1;
  }
  const int64_t layers = weight.size(2), depth = out[2];
  const Tensor padded = padding[0] ? constant_pad_nd(x, {0, 0, 0, 0, padding[0], padding[0]}) : x;
  std::vector<Tensor> taps;  // for each layer of the kernel, the part of x that it covers
  for (int64_t k = 0; k < layers; ++k)
    taps.push_back(padded.slice(2, k * dilation[0], k * dilation[0] + (depth - 1) * stride[0] + 1, stride[0]));
  const Tensor met = layers == 1 ? taps[0].unsqueeze(2) : stack(taps, 2);  // shape (N, C, KD, OD, H, W)
  const Tensor images =
      met.permute({0, 3, 1, 2, 4, 5}).reshape({x.size(0) * depth, x.size(1) * layers, x.size(3), x.size(4)});
  const Tensor kernels = weight.reshape({weight.size(0), weight.size(1) * layers, weight.size(3), weight.size(4)});
  const Tensor y = conv2d(images, kernels, bias, plane(stride), plane(padding), plane(dilation), groups);
  return reshape_result(to_volumes(y, x.size(0), depth).contiguous(), out);
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, Triple stride, Triple padding,
                        Triple output_padding, int64_t groups, Triple dilation) {
  constexpr const char* kName = "conv_transpose3d";
  check_operands(kName, x, weight);
  check_real(kName, x);
  if (x.dim() == 4) {
    const Tensor y = conv_transpose3d(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation);
    return reshape_result(y, y.sizes().slice(1, 4));
  }
  TANDEM_CHECK(x.dim() == 5 && weight.dim() == 5, kName, ": x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, D, H, W) and (C, O / groups, KD, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(0) && x.size(1) % groups == 0 && weight.numel() > 0, kName,
               ": x is ", x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; weight.size(0) must be the number of x's channels, and a multiple of groups, and no size 0");
  check_numbers(kName, stride, padding, dilation);
  const int64_t channels = weight.size(1) * groups, layers = weight.size(2), depth = x.size(2), images = x.size(0);
  check_bias(kName, x, bias, channels);
  Shape out{images, channels, 0, 0, 0};
  for (size_t i = 0; i < 3; ++i) {
    TANDEM_CHECK(output_padding[i] >= 0 && output_padding[i] < std::max(stride[i], dilation[i]), kName,
                 ": output_padding ", IntArrayRef(output_padding),
                 "; accepted: 0 and more, and less than the larger of stride ", IntArrayRef(stride), " and dilation ",
                 IntArrayRef(dilation));
    const int64_t held = x.sizes()[i + 2], kernel = weight.sizes()[i + 2];
    out[i + 2] = (held - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + output_padding[i] + 1;
    TANDEM_CHECK(held > 0 && kernel > 0 && out[i + 2] > 0, kName, ": x is ", x.sizes(), " and weight is ",
                 weight.sizes(), ", with padding ", IntArrayRef(padding), " the result would have ", out[i + 2],
                 " elements in a dimension; accepted: 1 and more");
  }
  const Tensor kernels = weight.reshape({x.size(1), weight.size(1) * layers, weight.size(3), weight.size(4)});
  const Tensor spread = conv_transpose2d(to_images(x), kernels, {}, plane(stride), plane(padding),
                                         plane(output_padding), groups, plane(dilation));  // (N * D, O * KD, OH, OW)
  // Layer k of image d contributes to depth d * stride + k * dilation of the result, counted before padding is cut off.
  const TensorOptions places = TensorOptions(kInt64).device(x.device());
  const Tensor at = arange(depth, places).unsqueeze(1) * stride[0] + arange(layers, places) * dilation[0];
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
  return record("add", total, {y, bias, x, weight}, {}, [](const Context& ctx, const Tensor& dy) -> Grads {
    return {dy, ctx.needs_grad(1) ? ctx.flat_in({2, 3}, dy.sum({0, 2, 3, 4})) : Tensor()};
  });
}

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const int64_t dims = weight.dim() - 2;
  TANDEM_CHECK(dims >= 1 && dims <= 3, "convolution: weight is ", weight.sizes(), "; accepted: 3, 4 or 5 dimensions");
  for (const IntArrayRef list : {stride, padding, dilation, output_padding})
    TANDEM_CHECK(list.size() == 1 || static_cast<int64_t>(list.size()) == dims, "convolution: a list of ", list.size(),
                 " numbers for ", dims, " dimensions; accepted: one for each, or one for all");
  if (dims == 1)
    return transposed ? conv_transpose1d(x, weight, bias, stride[0], padding[0], output_padding[0], groups, dilation[0])
                      : conv1d(x, weight, bias, stride[0], padding[0], dilation[0], groups);
  if (dims == 2)
    return transposed ? conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
                      : conv2d(x, weight, bias, stride, padding, dilation, groups);
  return transposed ? conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation)
                    : conv3d(x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TANDEM_CHECK(x.dim() == 3 && weight.dim() == 3, "conv_tbc: x is ", x.sizes(), " and weight ", weight.sizes(),
               "; accepted: (L, N, C) and (K, C, O)");
  const Tensor y = conv1d(x.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, 1, pad);
  return y.permute({2, 0, 1}).contiguous();
}

}  // namespace tandem
