// Implements crops, flips, padding, rotation and erasing. Pads and crops are copies of parts of the image, and
// rotation samples it by grid_sample.
#include "tandem/data/augmentation/geometry.h"

#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/nn/grid_sampler.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/ops/shape/clone.h"

namespace tandem::data::transforms::functional {
namespace {

void check_image(const char* function, const Tensor& image, int64_t min_dims) {
  TANDEM_CHECK(image.dim() >= min_dims, function, ": the image is ", image.sizes(),
               "; accepted: ", min_dims == 2 ? "(..., H, W)" : "(..., C, H, W)");
}

struct Padding {
  int64_t left, top, right, bottom;
};
Padding parse_padding(const std::vector<int64_t>& p) {
  TANDEM_CHECK(p.size() == 1 || p.size() == 2 || p.size() == 4,
               "pad_image: Padding must be a 1, 2, or 4 element list. Found ", p.size());
  for (const int64_t each : p) TANDEM_CHECK(each >= 0, "pad_image: padding is ", each, "; accepted: 0 or more");
  if (p.size() == 1) return {p[0], p[0], p[0], p[0]};
  if (p.size() == 2) return {p[0], p[1], p[0], p[1]};
  return {p[0], p[1], p[2], p[3]};
}

/// Returns fill values as (C, 1, 1) or (1, 1, 1), with the dtype and device of the image.
Tensor make_fill(const char* function, const Tensor& image, const std::vector<double>& fill) {
  const auto count = static_cast<int64_t>(fill.size());
  TANDEM_CHECK(count == 1 || count == image.size(-3), function, ": fill has ", count, " values and the image is ",
               image.sizes(), "; accepted: one value, or one for each channel");
  return tensor(fill, kFloat64).view({count, 1, 1}).to(image.device(), image.dtype());
}

/// Returns, for each index of a padded dimension, the index of the element that padding puts there.
Tensor make_padding_indices(int64_t size, int64_t before, int64_t after, const std::string& mode) {
  TANDEM_CHECK(mode != "reflect" || std::max(before, after) < size, "pad_image: padding by ", std::max(before, after),
               " of ", size, " pixels; accepted in mode \"reflect\": less than the size of the image");
  const Tensor indices = core::empty({before + size + after}, kInt64, kCPU);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    int64_t at = i - before;
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, size - 1);
    } else {
      const int64_t period = mode == "reflect" ? std::max<int64_t>(2 * size - 2, 1) : 2 * size;
      at = ((at % period) + period) % period;
      if (at >= size) at = (mode == "reflect" ? period : period - 1) - at;
    }
    indices.data<int64_t>()[i] = at;
  }
  return indices;
}

Tensor pad_with_constant(const Tensor& image, const Padding& p, const std::vector<double>& fill) {
  Shape sizes = image.sizes();
  sizes[sizes.size() - 2] += p.top + p.bottom;
  sizes[sizes.size() - 1] += p.left + p.right;
  const Tensor out = make_fill("pad_image", image, fill).expand(sizes).clone(MemoryFormat::Contiguous);
  out.narrow(-2, p.top, image.size(-2)).narrow(-1, p.left, image.size(-1)).copy_(image);
  return out;
}

/// Map from pixels of the result to pixels of the image: (x, y) -> (a x + b y + c, d x + e y + f). Coordinates begin at
/// the centre of the result and of the image.
struct AffineMap {
  double a, b, c, d, e, f;
};

/// Returns the width and height of an image after rotation.
std::pair<int64_t, int64_t> expanded_size(const AffineMap& m, int64_t width, int64_t height) {
  // Extent in one direction of the rotated image, whose corners are at (±x, ±y). As torchvision, computes in float32,
  // and drops parts of a pixel below 1e-4, so that rounding errors do not add a row.
  const auto extent = [](double ax, double by, double half) {
    const auto reach = static_cast<float>(std::abs(ax) + std::abs(by));
    const auto cut = [](float x) { return std::trunc(x * 1e4f) * 1e-4f; };
    const auto h = static_cast<float>(half);
    return static_cast<int64_t>(std::ceil(cut(h + reach)) - std::floor(cut(h - reach)));
  };
  const double x = 0.5 * static_cast<double>(width), y = 0.5 * static_cast<double>(height);
  return {extent(m.a * x, m.b * y, x), extent(m.d * x, m.e * y, y)};
}

/// Returns the grid (1, height, width, 2) of grid_sample for a map.
Tensor make_grid_of(const AffineMap& m, const Tensor& image, int64_t width, int64_t height, Dtype dtype) {
  const double half_width = 0.5 * static_cast<double>(image.size(-1));
  const double half_height = 0.5 * static_cast<double>(image.size(-2));
  const Tensor grid = core::empty({1, height, width, 2}, kFloat64, kCPU);
  double* to = grid.data<double>();
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const double x = static_cast<double>(column) - 0.5 * static_cast<double>(width - 1);
      const double y = static_cast<double>(row) - 0.5 * static_cast<double>(height - 1);
      *to++ = (m.a * x + m.b * y + m.c) / half_width;
      *to++ = (m.d * x + m.e * y + m.f) / half_height;
    }
  return grid.to(image.device(), dtype);
}

/// Samples images (N, C, H, W) at a grid, and gives positions outside of them the values of `fill`. As in torchvision,
/// values at the edge are blended with 0 first, and then with `fill`.
Tensor sample_with_fill(const Tensor& images, const Tensor& grid, InterpolationMode mode,
                        const std::vector<double>& fill) {
  const int64_t channels = images.size(1);
  const Tensor mask = ones({images.size(0), 1, images.size(2), images.size(3)}, images.options());
  const Tensor both = grid_sample(cat({images, mask}, 1), grid, mode, PaddingMode::zeros, /*align_corners=*/false);
  const Tensor sampled = both.narrow(1, 0, channels), coverage = both.narrow(1, channels, 1);
  const Tensor fill_values = make_fill("rotate", images, fill);
  if (mode == InterpolationMode::nearest) return where(coverage < 0.5, fill_values, sampled);
  return (sampled - fill_values) * coverage + fill_values;
}

/// Samples an image of any dtype at a grid.
Tensor sample_image(const Tensor& image, const Tensor& grid, InterpolationMode mode, const std::vector<double>& fill) {
  const Tensor flat = image.reshape({-1, image.size(-3), image.size(-2), image.size(-1)}).to(grid.dtype());
  const Tensor grids = grid.expand({flat.size(0), grid.size(1), grid.size(2), 2});
  Tensor out = fill.empty() ? grid_sample(flat, grids, mode, PaddingMode::zeros, /*align_corners=*/false)
                            : sample_with_fill(flat, grids, mode, fill);
  if (!image.is_floating_point()) out = out.round();
  Shape sizes = image.sizes();
  sizes[sizes.size() - 2] = grid.size(1);
  sizes[sizes.size() - 1] = grid.size(2);
  return out.to(image.dtype()).reshape(sizes);
}

}  // namespace

Tensor crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  check_image("crop", image, 2);
  TANDEM_CHECK(height >= 0 && width >= 0, "crop: height x width is ", height, " x ", width, "; accepted: 0 or more");
  const int64_t bottom = top + height, right = left + width;
  const bool is_inside = top >= 0 && left >= 0 && bottom <= image.size(-2) && right <= image.size(-1);
  if (is_inside) return image.narrow(-2, top, height).narrow(-1, left, width);
  const auto clamp_row = [&](int64_t row) { return std::clamp<int64_t>(row, 0, image.size(-2)); };
  const auto clamp_column = [&](int64_t column) { return std::clamp<int64_t>(column, 0, image.size(-1)); };
  const int64_t rows = clamp_row(bottom) - clamp_row(top), columns = clamp_column(right) - clamp_column(left);
  Shape sizes = image.sizes();
  sizes[sizes.size() - 2] = height;
  sizes[sizes.size() - 1] = width;
  const Tensor out = zeros(sizes, image.options());
  if (rows > 0 && columns > 0)
    out.narrow(-2, std::max<int64_t>(-top, 0), rows)
        .narrow(-1, std::max<int64_t>(-left, 0), columns)
        .copy_(image.narrow(-2, clamp_row(top), rows).narrow(-1, clamp_column(left), columns));
  return out;
}

Tensor horizontal_flip(const Tensor& image) {
  check_image("horizontal_flip", image, 2);
  return image.flip(-1);
}
Tensor vertical_flip(const Tensor& image) {
  check_image("vertical_flip", image, 2);
  return image.flip(-2);
}

Tensor pad_image(const Tensor& image, const std::vector<int64_t>& padding, const std::vector<double>& fill,
                 const std::string& padding_mode) {
  check_image("pad_image", image, 3);
  const Padding p = parse_padding(padding);
  if (padding_mode == "constant") return pad_with_constant(image, p, fill);
  TANDEM_CHECK(padding_mode == "edge" || padding_mode == "reflect" || padding_mode == "symmetric",
               "pad_image: padding_mode should be either constant, edge, reflect or symmetric, but got ", padding_mode);
  const Tensor rows = make_padding_indices(image.size(-2), p.top, p.bottom, padding_mode).to(image.device());
  const Tensor columns = make_padding_indices(image.size(-1), p.left, p.right, padding_mode).to(image.device());
  return image.index_select(-2, rows).index_select(-1, columns);
}

Tensor rotate(const Tensor& image, double angle, InterpolationMode interpolation, bool expand,
              const std::vector<double>& center, const std::vector<double>& fill) {
  check_image("rotate", image, 3);
  TANDEM_CHECK(interpolation == InterpolationMode::nearest || interpolation == InterpolationMode::bilinear,
               "rotate: interpolation is ", mode_name(interpolation), "; accepted: nearest and bilinear");
  TANDEM_CHECK(center.empty() || (center.size() == 2 && !expand), "rotate: center has ", center.size(), " values and ",
               "expand is ", expand, "; accepted: none, or x and y without expand");
  const double turned = angle - 360 * std::floor(angle / 360);  // in [0, 360)
  const int64_t height = image.size(-2), width = image.size(-1);
  if (center.empty()) {  // quarter turns are exact
    if (turned == 0) return image.clone();
    if (turned == 180) return image.rot90(2, {-2, -1});
    if ((expand || height == width) && (turned == 90 || turned == 270))
      return image.rot90(turned == 90 ? 1 : 3, {-2, -1});
  }
  if (image.numel() == 0) return image;
  const double radians = turned * M_PI / 180, cosine = std::cos(radians), sine = std::sin(radians);
  AffineMap map{cosine, -sine, 0, sine, cosine, 0};
  if (!center.empty()) {  // moves the centre to itself
    const double x = center[0] - 0.5 * static_cast<double>(width), y = center[1] - 0.5 * static_cast<double>(height);
    map.c = x - map.a * x - map.b * y;
    map.f = y - map.d * x - map.e * y;
  }
  const auto [new_width, new_height] = expand ? expanded_size(map, width, height) : std::pair(width, height);
  const Dtype dtype = image.dtype() == kFloat64 ? kFloat64 : kFloat32;
  return sample_image(image, make_grid_of(map, image, new_width, new_height, dtype), interpolation, fill);
}

Tensor erase(const Tensor& image, int64_t i, int64_t j, int64_t h, int64_t w, const Tensor& v, bool inplace) {
  check_image("erase", image, 3);
  TANDEM_CHECK(i >= 0 && h >= 0 && i + h <= image.size(-2) && j >= 0 && w >= 0 && j + w <= image.size(-1),
               "erase: rows ", i, " to ", i + h, " and columns ", j, " to ", j + w, " of an image ", image.sizes(),
               "; accepted: a part of the image");
  const Tensor out = inplace ? image : image.clone();
  out.narrow(-2, i, h).narrow(-1, j, w).copy_(v);
  return out;
}

}  // namespace tandem::data::transforms::functional
