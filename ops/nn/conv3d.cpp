// Convolutions of three dimensions, made of those of two: a volume is a row of images, and the kernel's layers in depth
// are further channels.
#include "tandem/autograd/record.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::Triple;

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
/// Images (N D, channels, H, W) as volumes (N, channels, D, H, W).
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
  std::vector<Tensor> taps;  // for each layer of the kernel what it meets
  for (int64_t k = 0; k < layers; ++k)
    taps.push_back(padded.slice(2, k * dilation[0], k * dilation[0] + (depth - 1) * stride[0] + 1, stride[0]));
  const Tensor met = layers == 1 ? taps[0].unsqueeze(2) : stack(taps, 2);  // (N, C, KD, OD, H, W)
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
  detail::check_real(kName, x);
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
                                         plane(output_padding), groups, plane(dilation));  // (N D, O KD, OH, OW)
  // Layer k of image d lands at depth d stride + k dilation, of a result that is not cut by padding yet.
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

}  // namespace tandem
