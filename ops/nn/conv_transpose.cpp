// Convolutions made of conv2d and its gradient: transposed ones, and those of one dimension.
#include "tandem/autograd/record.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::Pair;
using detail::Triple;

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

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding,
                        Pair output_padding, int64_t groups, Pair dilation) {
  constexpr const char* kName = "conv_transpose2d";
  detail::check_operands(kName, x, weight);
  detail::check_real(kName, x);
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
    detail::check_operands(kName, x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == out[1], kName, ": bias is ", bias.sizes(), "; accepted: (", out[1],
                 ",)");
  }
  // conv2d gives no more pixels than x has only if output_padding is less than the stride: more are pixels of zeros.
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

namespace {
void check_one_dimension(const char* op, const Tensor& x, const Tensor& weight) {
  TANDEM_CHECK((x.dim() == 2 || x.dim() == 3) && weight.dim() == 3, op, ": x is ", x.sizes(), " and weight is ",
               weight.sizes(), "; accepted: (N, C, L) or (C, L), and a weight of three dimensions");
}
/// Of two dimensions, whose first is 1, back to one.
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

}  // namespace tandem
