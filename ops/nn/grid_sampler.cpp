// Sampling of images and volumes at the positions of a grid, and grids of affine maps: grid_sampler,
// affine_grid_generator.
#include "tandem/ops/nn/grid_sampler.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/linspace.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, grid_sampler);
TANDEM_CAST_POLICY(none, affine_grid_generator);

namespace {

/// Converts coordinates from [-1, 1] to pixels.
Tensor to_pixel_coordinates(const Tensor& position, int64_t size, bool align) {
  const double n = static_cast<double>(size);
  return align ? (position + 1) * ((n - 1) / 2) : ((position + 1) * n - 1) / 2;
}
/// Mirrors `at` until it lies between the centres of the first and the last pixel (align), or between their outer
/// edges.
Tensor reflect_coordinates(const Tensor& at, int64_t size, bool align) {
  const double low = align ? 0 : -0.5, span = static_cast<double>(size) - (align ? 1 : 0);
  if (span == 0) return at * 0;
  // position within one period, which goes through the image and back
  const Tensor there_and_back = (at - low).remainder(2 * span);
  return where(there_and_back > span, 2 * span - there_and_back, there_and_back) + low;
}
/// Returns the position inside the image that replaces `at`. In mode zeros, it is `at` itself. As in PyTorch, NaN
/// becomes the first pixel. Infinity does too if it is mirrored, which makes it NaN.
Tensor compute_coordinates(const Tensor& at, int64_t size, PaddingMode mode, bool align) {
  if (mode == PaddingMode::zeros) return at;
  const Tensor near = mode == PaddingMode::reflection ? reflect_coordinates(at, size, align) : at;
  return where(near.isnan(), Scalar(0), near.clamp(0, static_cast<double>(size - 1)));
}

/// Pixels that one tap of the interpolation reads along one dimension, as floating-point positions, and their weights.
struct GridTap {
  Tensor position, weight;
};
std::vector<GridTap> compute_linear_taps(const Tensor& at) {
  const Tensor first = at.detach().floor(), t = at - first;
  return {{first, 1 - t}, {first + 1, t}};
}
std::vector<GridTap> compute_cubic_taps(const Tensor& at, int64_t size, PaddingMode mode, bool align) {
  constexpr double a = -0.75;  // parameter of Keys' cubic convolution kernel
  const Tensor first = at.detach().floor(), t = at - first;
  const auto near = [](const Tensor& d) { return ((d * (a + 2) - (a + 3)) * d) * d + 1; };
  const auto far = [](const Tensor& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto position = [&](double offset) { return compute_coordinates(first + offset, size, mode, align); };
  return {{position(-1), far(t + 1)}, {position(0), near(t)}, {position(1), near(1 - t)}, {position(2), far(2 - t)}};
}

/// Reads the pixels of x at `positions` and returns them as (N, C, ...). x is given as rows (N, C, pixels), and
/// `positions` has a tensor (N, ...) for each spatial dimension. Pixels outside the image are 0.
Tensor gather_pixels(const Tensor& rows, IntArrayRef sizes, const std::vector<Tensor>& positions) {
  Tensor index, valid;
  for (size_t d = 0; d < positions.size(); ++d) {
    const NoGradGuard guard;
    const double last = static_cast<double>(sizes[d] - 1);
    const Tensor here = (positions[d] >= 0) & (positions[d] <= last);  // false for NaN
    const Tensor safe = where(here, positions[d].detach(), Scalar(0)).to(kInt64);
    index = index.defined() ? index * sizes[d] + safe : safe;
    valid = valid.defined() ? valid & here : here;
  }
  Shape all{rows.size(0), rows.size(1)};
  for (size_t d = 1; d < static_cast<size_t>(index.dim()); ++d) all.push_back(index.sizes()[d]);
  const Tensor picked = rows.gather(2, index.flatten(1)
                                           .unsqueeze(1)
                                           .expand({all[0], all[1], index.numel() / std::max<int64_t>(all[0], 1)})
                                           .contiguous());
  return where(valid.unsqueeze(1), picked.reshape(all), Scalar(0));
}

}  // namespace

static void check_grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode) {
  check_floating_point("grid_sampler", x);
  check_same_dtype_and_device("grid_sampler", "x", x, "grid", grid);
  const int64_t spatial = x.dim() - 2;
  TANDEM_CHECK(
      (spatial == 2 || spatial == 3) && grid.dim() == x.dim(),
      "grid_sampler: expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
      x.sizes(), " and grid with sizes ", grid.sizes());
  TANDEM_CHECK(grid.size(0) == x.size(0),
               "grid_sampler: expected grid and input to have same batch size, but got input with sizes ", x.sizes(),
               " and grid with sizes ", grid.sizes());
  TANDEM_CHECK(grid.size(-1) == spatial, "grid_sampler: expected grid to have size ", spatial,
               " in last dimension, but got grid with sizes ", grid.sizes());
  TANDEM_CHECK(numel_of(x.sizes().slice(2, static_cast<size_t>(spatial))) > 0,
               "grid_sampler: expected input to have non-empty spatial dimensions, but input has sizes ", x.sizes());
  TANDEM_CHECK(interpolation_mode >= 0 && interpolation_mode <= (spatial == 2 ? 2 : 1), "grid_sampler: mode is ",
               interpolation_mode, "; accepted: 0 (bilinear), 1 (nearest) and, for 4D input, 2 (bicubic)");
  TANDEM_CHECK(padding_mode >= 0 && padding_mode <= 2, "grid_sampler: padding_mode is ", padding_mode,
               "; accepted: 0 (zeros), 1 (border), 2 (reflection)");
}
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    Flag align_corners) {
  if (const Autocast cast{cast_policy::grid_sampler, x, grid})
    return grid_sampler(cast(x), cast(grid), interpolation_mode, padding_mode, align_corners);
  check_grid_sampler(x, grid, interpolation_mode, padding_mode);
  const int64_t spatial = x.dim() - 2;
  if (x.numel() == 0) {
    Shape out{x.size(0), x.size(1)};
    for (int64_t d = 0; d < spatial; ++d) out.push_back(grid.size(d + 1));
    return record_op("grid_sampler", zeros(out, x.options()), {x, grid}, {x, grid},
                     [](const BackwardContext& ctx, const Tensor&) -> Grads {
                       return {ctx.attach_zero_derivative({0, 1}, zeros_like(ctx.saved(0))),
                               ctx.attach_zero_derivative(0, ctx.attach_zero_derivative(1, zeros_like(ctx.saved(1))))};
                     });
  }
  constexpr PaddingMode kModes[] = {PaddingMode::zeros, PaddingMode::border, PaddingMode::reflection};
  const PaddingMode mode = kModes[padding_mode];
  const DType wide = detail::accumulate_type(x.dtype());
  Tensor image = x;
  // Connects the gradient of x to both x and grid, as in PyTorch.
  if (autograd::any_requires_grad({x}))
    image =
        record_op("alias", core::alias(x), {x, grid}, {}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
          return {ctx.attach_zero_derivative({0, 1}, dy)};
        });
  const Tensor rows = image.to(wide).flatten(2),
               at = grid.to(wide).contiguous();  // the strides of `at` determine the result's strides
  const IntArrayRef sizes = x.sizes().slice(2, static_cast<size_t>(spatial));

  // Interpolation taps for each spatial dimension of x. The grid lists the dimensions in reverse order.
  std::vector<std::vector<GridTap>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    const Tensor pixel = to_pixel_coordinates(at.select(-1, spatial - 1 - d), size, align_corners);
    if (interpolation_mode == 2)
      taps.push_back(compute_cubic_taps(pixel, size, mode, align_corners));
    else if (interpolation_mode == 0)
      taps.push_back(compute_linear_taps(compute_coordinates(pixel, size, mode, align_corners)));
    else
      taps.push_back({{compute_coordinates(pixel, size, mode, align_corners).detach().round(), Tensor()}});
  }
  Tensor y;
  // Index of one tap for each dimension; the loop runs through all combinations.
  std::vector<size_t> chosen(taps.size(), 0);
  for (bool more = true; more;) {
    std::vector<Tensor> positions;
    Tensor weight;
    for (size_t d = 0; d < taps.size(); ++d) {
      const GridTap& tap = taps[d][chosen[d]];
      positions.push_back(tap.position);
      if (tap.weight.defined()) weight = weight.defined() ? weight * tap.weight : tap.weight;
    }
    Tensor part = gather_pixels(rows, sizes, positions);
    if (weight.defined()) part = part * weight.unsqueeze(1);
    y = y.defined() ? y + part : part;
    more = false;
    for (size_t d = 0; d < taps.size() && !more; ++d) {
      more = ++chosen[d] < taps[d].size();
      if (!more) chosen[d] = 0;
    }
  }
  y = y.to(x.dtype());
  if (interpolation_mode != 1 || !autograd::any_requires_grad({grid})) return y;
  // The nearest pixel does not change with the grid, so the gradient of the grid is zero.
  return record_op(
      "grid_sampler", y.detach().clone(), {y, grid}, {},
      [sizes = Shape(grid.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {dy, ctx.needs_grad(1) ? ctx.attach_zero_derivative({0, 1}, zeros(sizes, dy.options())) : Tensor()};
      });
}

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, Flag align_corners) {
  const AutocastOffGuard uncast;
  check_floating_point("affine_grid_generator", theta);
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  TANDEM_CHECK(spatial == 2 || spatial == 3,
               "affine_grid_generator: affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
               "respectively. Got size ",
               size);
  TANDEM_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == spatial && theta.size(2) == spatial + 1,
               "affine_grid_generator: Expected a batch of ", spatial, "D affine matrices of shape Nx", spatial, "x",
               spatial + 1, " for size ", size, ". Got ", theta.sizes());
  for (const int64_t n : size)
    TANDEM_CHECK(n > 0, "affine_grid_generator: Expected non-zero, positive output size. Got ", size);
  const Shape out = size.slice(2, static_cast<size_t>(spatial));
  std::vector<Tensor> parts;  // coordinates of each output position: x, y, (z), 1
  for (int64_t d = spatial - 1; d >= 0; --d) {
    const int64_t n = out[static_cast<size_t>(d)];
    const double edge = n == 1 ? 0 : align_corners ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
    Shape along(static_cast<size_t>(spatial), 1);
    along[static_cast<size_t>(d)] = n;
    parts.push_back(linspace(-edge, edge, n, theta.options()).view(along).expand(out));
  }
  parts.push_back(ones(out, theta.options()));
  const Tensor positions = stack(parts, -1).view({1, -1, spatial + 1}).expand({size[0], -1, spatial + 1});
  Shape sizes{size[0]};
  for (const int64_t n : out) sizes.push_back(n);
  sizes.push_back(spatial);
  return reshape_result(positions.contiguous().bmm(theta.transpose(1, 2)), sizes);
}

Tensor detail::grid_sample(const Tensor& x, const Tensor& grid, InterpolationMode mode, PaddingMode padding_mode,
                           bool align_corners) {
  const int64_t interpolation = mode == InterpolationMode::bilinear  ? 0
                                : mode == InterpolationMode::nearest ? 1
                                : mode == InterpolationMode::bicubic ? 2
                                                                     : -1;
  TANDEM_CHECK(interpolation >= 0, "grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '",
               mode_name(mode), "'");
  const int64_t padding = padding_mode == PaddingMode::zeros        ? 0
                          : padding_mode == PaddingMode::border     ? 1
                          : padding_mode == PaddingMode::reflection ? 2
                                                                    : -1;
  TANDEM_CHECK(padding >= 0, "grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '",
               mode_name(padding_mode), "'");
  return grid_sampler(x, grid, interpolation, padding, align_corners);
}

}  // namespace tandem
