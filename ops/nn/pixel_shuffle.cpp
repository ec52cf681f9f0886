// Rearranging pixels and channels: pixel_shuffle, pixel_unshuffle, channel_shuffle.
#include "tandem/ops/nn/pixel_shuffle.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, channel_shuffle, pixel_shuffle, pixel_unshuffle);

namespace {
/// Returns x's sizes with the last three replaced by `last`.
Shape replace_last_sizes(const Tensor& x, IntArrayRef last) {
  Shape sizes = x.sizes().slice(0, static_cast<size_t>(x.dim()) - 3);
  for (const int64_t size : last) sizes.push_back(size);
  return sizes;
}
/// Permutes the last dimensions of y (as many as `order` lists), and keeps the dimensions before them.
Tensor permute_last(const Tensor& y, IntArrayRef order) {
  Shape dims;
  const int64_t before = y.dim() - static_cast<int64_t>(order.size());
  for (int64_t d = 0; d < before; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(before + d);
  return core::permute(y, dims);
}
/// Copies `parts` to a tensor of `sizes` in x's memory format.
Tensor copy_in_memory_format(const char* op, const Tensor& parts, const Shape& sizes, const Tensor& x) {
  const Tensor y =
      core::empty_dense(sizes, core::strides_of(op, sizes, x.suggest_memory_format()), x.dtype(), x.device());
  copy_elements(parts, core::try_view(y, parts.sizes()));
  return y;
}
}  // namespace

Tensor pixel_shuffle(const Tensor& x, int64_t r) {
  TANDEM_CHECK(x.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", x.dim(),
               " dimension(s)");
  TANDEM_CHECK(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  TANDEM_CHECK(x.size(-3) % (r * r) == 0,
               "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
               "but input.size(-3)=",
               x.size(-3), " is not divisible by ", r * r);
  const int64_t c = x.size(-3) / (r * r), h = x.size(-2), w = x.size(-1);
  const Tensor parts = permute_last(core::try_view(x, replace_last_sizes(x, {c, r, r, h, w})), {0, 3, 1, 4, 2});
  return record_op("pixel_shuffle",
                   copy_in_memory_format("pixel_shuffle", parts, replace_last_sizes(x, {c, h * r, w * r}), x), {x}, {},
                   [r](const BackwardContext&, const Tensor& dy) -> Grads { return {pixel_unshuffle(dy, r)}; });
}
Tensor pixel_unshuffle(const Tensor& x, int64_t r) {
  TANDEM_CHECK(x.dim() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ",
               x.dim(), " dimension(s)");
  TANDEM_CHECK(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  TANDEM_CHECK(x.size(-2) % r == 0,
               "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=", x.size(-2),
               " is not divisible by ", r);
  TANDEM_CHECK(x.size(-1) % r == 0,
               "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=", x.size(-1),
               " is not divisible by ", r);
  const int64_t c = x.size(-3), h = x.size(-2) / r, w = x.size(-1) / r;
  const Tensor parts = permute_last(core::try_view(x, replace_last_sizes(x, {c, h, r, w, r})), {0, 2, 4, 1, 3});
  return record_op("pixel_unshuffle",
                   copy_in_memory_format("pixel_unshuffle", parts, replace_last_sizes(x, {c * r * r, h, w}), x), {x},
                   {}, [r](const BackwardContext&, const Tensor& dy) -> Grads { return {pixel_shuffle(dy, r)}; });
}
Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  TANDEM_CHECK(x.dim() >= 3, "channel_shuffle expects input with > 2 dims, but got input with sizes ", x.sizes());
  TANDEM_CHECK(groups > 0,
               "channel_shuffle: Number of groups to divide channels in must be positive. Value of groups:", groups);
  TANDEM_CHECK(x.size(1) % groups == 0, "channel_shuffle: Number of channels must be divisible by groups. Got ",
               x.size(1), " channels and ", groups, " groups.");
  const Tensor transposed = x.unflatten(1, {groups, x.size(1) / groups}).transpose(1, 2);
  return reshape_result(transposed.clone(MemoryFormat::Contiguous), x.sizes());
}

}  // namespace tandem
