// Resizing of images, one dimension after the other: upsample_nearest2d, upsample_bilinear2d, upsample_bicubic2d and
// others.
#include "tandem/ops/nn/upsample.h"

#include <cmath>

#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/avg_pool.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, upsample_bicubic2d, upsample_bilinear2d, upsample_linear1d, upsample_nearest1d,
                   upsample_nearest2d, upsample_nearest3d, upsample_trilinear3d);

using detail::Resampling;
namespace {

/// A tap of the interpolation along one dimension: output i is the sum over taps of weights[i] x[positions[i]].
struct Tap {
  std::vector<int64_t> positions;
  std::vector<double> weights;  // weights of the inputs; if empty, all weights are 1
};
/// Returns Keys' kernel with a = -0.75 at distance d.
double cubic_kernel(double d) {
  constexpr double a = -0.75;
  d = std::abs(d);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}
/// Returns the index of the input pixel nearest to output pixel i. As in PyTorch, the position is computed in float32;
/// if `wide` (for float64 images), it is computed in float64 and then rounded to float32.
int64_t nearest_source_index(int64_t i, double scale, bool exact, bool wide) {
  const double offset = exact ? 0.5 : 0;
  const float position = wide ? static_cast<float>((static_cast<double>(i) + offset) * scale)
                              : (static_cast<float>(i) + static_cast<float>(offset)) * static_cast<float>(scale);
  return static_cast<int64_t>(std::floor(position));
}
std::vector<Tap> compute_taps(int64_t in, int64_t out, double scale, Resampling kind, bool align, bool wide) {
  const bool cubic = kind == Resampling::cubic, linear = kind == Resampling::linear;
  std::vector<Tap> taps(cubic ? 4 : linear ? 2 : 1);
  const auto clamp_index = [&](int64_t position) { return std::clamp<int64_t>(position, 0, in - 1); };
  for (int64_t i = 0; i < out; ++i) {
    if (!cubic && !linear) {
      taps[0].positions.push_back(clamp_index(nearest_source_index(i, scale, kind == Resampling::nearest_exact, wide)));
      continue;
    }
    double from = align ? static_cast<double>(i) * scale : (static_cast<double>(i) + 0.5) * scale - 0.5;
    if (linear) from = std::max(from, 0.0);
    const double floor = std::floor(from), t = from - floor;
    const int64_t first = static_cast<int64_t>(floor) - (cubic ? 1 : 0);
    for (size_t k = 0; k < taps.size(); ++k) {
      taps[k].positions.push_back(clamp_index(first + static_cast<int64_t>(k)));
      taps[k].weights.push_back(cubic ? cubic_kernel(static_cast<double>(k) - 1 - t) : k == 0 ? 1 - t : t);
    }
  }
  return taps;
}
Tensor resample_dim(const Tensor& x, int64_t dim, const std::vector<Tap>& taps) {
  Shape along(static_cast<size_t>(x.dim()), 1);
  along[static_cast<size_t>(dim)] = static_cast<int64_t>(taps[0].positions.size());
  Tensor y;
  for (const Tap& tap : taps) {
    Tensor part = x.index_select(dim, tensor(tap.positions, TensorOptions(kInt64).device(x.device())));
    if (!tap.weights.empty())
      part = part * tensor(tap.weights, TensorOptions(x.dtype()).device(x.device())).view(along);
    y = y.defined() ? y + part : part;
  }
  return y;
}

}  // namespace

Tensor detail::resample(const char* op, const Tensor& x, IntArrayRef size,
                        const std::vector<std::optional<double>>& scales, Resampling kind, bool align_corners) {
  const int64_t spatial = static_cast<int64_t>(size.size());
  const bool weighted = kind == Resampling::linear || kind == Resampling::cubic;
  if (weighted) check_floating_point(op, x);
  TANDEM_CHECK(x.dim() == spatial + 2, op, ": It is expected input_size equals to ", spatial + 2, ", but got size ",
               x.dim(), "; input_size is the number of dimensions of x, which is ", x.sizes());
  Tensor y = weighted ? x.to(accumulate_type(x.dtype())) : x;
  const MemoryFormat format = x.suggest_memory_format();
  for (int64_t k = spatial - 1; k >= 0; --k) {
    const auto d = static_cast<size_t>(k);
    const int64_t in = x.size(k + 2), out = size[d];
    TANDEM_CHECK(in > 0 && out > 0, op, ": Input and output sizes should be greater than 0, but got input ", x.sizes(),
                 " and output ", size);
    const std::optional<double> given = scales.empty() ? std::nullopt : scales[d];
    TANDEM_CHECK(!given || *given > 0, op, ": the scale of dimension ", k + 2, " is ", *given, "; accepted: above 0");
    const double ratio = static_cast<double>(in) / static_cast<double>(out);
    const bool align = align_corners && weighted;
    const double scale = !align    ? given ? 1 / *given : ratio
                         : out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1)
                                   : 0.0;
    // As in PyTorch, a dimension whose size does not change is not resampled; in bicubic mode, this holds only if the
    // scale is 1.
    if (in == out && (scale == 1 || kind != Resampling::cubic)) continue;
    y = resample_dim(y, k + 2, compute_taps(in, out, scale, kind, align, x.dtype() == kFloat64));
  }
  y = y.is_same(x) ? x.clone() : y.to(x.dtype());
  return x.dim() == 4 ? y.contiguous(format) : y;
}

Tensor upsample_nearest1d(const Tensor& x, IntArrayRef size, std::optional<double> scales) {
  if (const Autocast cast{cast_policy::upsample_nearest1d, x}) return upsample_nearest1d(cast(x), size, scales);
  TANDEM_CHECK(size.size() == 1, "upsample_nearest1d: It is expected output_size equals to 1, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: one number");
  return detail::resample("upsample_nearest1d", x, size, {scales}, Resampling::nearest, false);
}
Tensor upsample_nearest2d(const Tensor& x, IntArrayRef size, std::optional<double> h, std::optional<double> w) {
  if (const Autocast cast{cast_policy::upsample_nearest2d, x}) return upsample_nearest2d(cast(x), size, h, w);
  TANDEM_CHECK(size.size() == 2, "upsample_nearest2d: It is expected output_size equals to 2, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: two numbers");
  return detail::resample("upsample_nearest2d", x, size, {h, w}, Resampling::nearest, false);
}
Tensor upsample_nearest3d(const Tensor& x, IntArrayRef size, std::optional<double> d, std::optional<double> h,
                          std::optional<double> w) {
  if (const Autocast cast{cast_policy::upsample_nearest3d, x}) return upsample_nearest3d(cast(x), size, d, h, w);
  TANDEM_CHECK(size.size() == 3, "upsample_nearest3d: It is expected output_size equals to 3, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: three numbers");
  return detail::resample("upsample_nearest3d", x, size, {d, h, w}, Resampling::nearest, false);
}
Tensor upsample_linear1d(const Tensor& x, IntArrayRef size, Flag align_corners, std::optional<double> scales) {
  if (const Autocast cast{cast_policy::upsample_linear1d, x})
    return upsample_linear1d(cast(x), size, align_corners, scales);
  TANDEM_CHECK(size.size() == 1, "upsample_linear1d: It is expected output_size equals to 1, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: one number");
  return detail::resample("upsample_linear1d", x, size, {scales}, Resampling::linear, align_corners);
}
Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef size, Flag align_corners, std::optional<double> h,
                           std::optional<double> w) {
  if (const Autocast cast{cast_policy::upsample_bilinear2d, x})
    return upsample_bilinear2d(cast(x), size, align_corners, h, w);
  TANDEM_CHECK(size.size() == 2, "upsample_bilinear2d: It is expected output_size equals to 2, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: two numbers");
  return detail::resample("upsample_bilinear2d", x, size, {h, w}, Resampling::linear, align_corners);
}
Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef size, Flag align_corners, std::optional<double> h,
                          std::optional<double> w) {
  if (const Autocast cast{cast_policy::upsample_bicubic2d, x})
    return upsample_bicubic2d(cast(x), size, align_corners, h, w);
  TANDEM_CHECK(size.size() == 2, "upsample_bicubic2d: It is expected output_size equals to 2, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: two numbers");
  return detail::resample("upsample_bicubic2d", x, size, {h, w}, Resampling::cubic, align_corners);
}
Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef size, Flag align_corners, std::optional<double> d,
                            std::optional<double> h, std::optional<double> w) {
  if (const Autocast cast{cast_policy::upsample_trilinear3d, x})
    return upsample_trilinear3d(cast(x), size, align_corners, d, h, w);
  TANDEM_CHECK(size.size() == 3, "upsample_trilinear3d: It is expected output_size equals to 3, but got size ",
               size.size(), "; the argument size is ", size, "; accepted: three numbers");
  return detail::resample("upsample_trilinear3d", x, size, {d, h, w}, Resampling::linear, align_corners);
}

namespace {
/// The sizes of a resized image, and the scale of each dimension.
struct Target {
  Shape size;
  std::vector<std::optional<double>> scales;
};
/// Returns the target for either a size or a list of scales.
Target resolve_target(const char* op, const Tensor& x, const OptionalDims& size, const ScaleFactors& scales,
                      size_t spatial) {
  TANDEM_CHECK(size.has_value != scales.list.has_value(), op,
               ": Must specify exactly one of output_size and scale_factors");
  if (size.has_value) return {size.dims, std::vector<std::optional<double>>(spatial)};
  const std::vector<double>& factors = *scales.list;
  TANDEM_CHECK(factors.size() == spatial && x.dim() == static_cast<int64_t>(spatial) + 2, op, ": got ", factors.size(),
               " scale_factors for an image of sizes ", x.sizes(), "; accepted: ", spatial, " for ", spatial + 2,
               " dimensions");
  Target out;
  for (size_t d = 0; d < spatial; ++d) {
    out.size.push_back(static_cast<int64_t>(static_cast<double>(x.sizes()[d + 2]) * factors[d]));
    out.scales.emplace_back(factors[d]);
  }
  return out;
}
}  // namespace
Tensor upsample_nearest1d(const Tensor& x, const OptionalDims& size, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_nearest1d", x, size, scales, 1);
  return upsample_nearest1d(x, to.size, to.scales[0]);
}
Tensor upsample_nearest2d(const Tensor& x, const OptionalDims& size, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_nearest2d", x, size, scales, 2);
  return upsample_nearest2d(x, to.size, to.scales[0], to.scales[1]);
}
Tensor upsample_nearest3d(const Tensor& x, const OptionalDims& size, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_nearest3d", x, size, scales, 3);
  return upsample_nearest3d(x, to.size, to.scales[0], to.scales[1], to.scales[2]);
}
Tensor upsample_linear1d(const Tensor& x, const OptionalDims& size, Flag align_corners, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_linear1d", x, size, scales, 1);
  return upsample_linear1d(x, to.size, align_corners, to.scales[0]);
}
Tensor upsample_bilinear2d(const Tensor& x, const OptionalDims& size, Flag align_corners, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_bilinear2d", x, size, scales, 2);
  return upsample_bilinear2d(x, to.size, align_corners, to.scales[0], to.scales[1]);
}
Tensor upsample_bicubic2d(const Tensor& x, const OptionalDims& size, Flag align_corners, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_bicubic2d", x, size, scales, 2);
  return upsample_bicubic2d(x, to.size, align_corners, to.scales[0], to.scales[1]);
}
Tensor upsample_trilinear3d(const Tensor& x, const OptionalDims& size, Flag align_corners, const ScaleFactors& scales) {
  const Target to = resolve_target("upsample_trilinear3d", x, size, scales, 3);
  return upsample_trilinear3d(x, to.size, align_corners, to.scales[0], to.scales[1], to.scales[2]);
}

namespace {
/// Names of the interpolation modes, in the order of InterpolationMode: the name in Python, and the name of LibTorch's
/// constant.
constexpr const char* kInterpolationModeNames[][2] = {
    {"nearest", "kNearest"},     {"linear", "kLinear"}, {"bilinear", "kBilinear"},         {"bicubic", "kBicubic"},
    {"trilinear", "kTrilinear"}, {"area", "kArea"},     {"nearest-exact", "kNearestExact"}};
/// Returns the number of spatial dimensions that a mode accepts; 0 if it accepts any.
int64_t num_spatial_dims(InterpolationMode mode) {
  switch (mode) {
    case InterpolationMode::linear: return 1;
    case InterpolationMode::bilinear:
    case InterpolationMode::bicubic: return 2;
    case InterpolationMode::trilinear: return 3;
    default: return 0;
  }
}
}  // namespace
const char* detail::mode_name(InterpolationMode mode, bool as_libtorch) {
  return kInterpolationModeNames[static_cast<size_t>(mode)][as_libtorch];
}

Tensor detail::interpolate(const Tensor& x, const std::optional<std::vector<int64_t>>& output_size,
                           const std::optional<std::vector<double>>& scale_factor, InterpolationMode mode,
                           std::optional<bool> align_corners, bool recompute_scale_factor) {
  const int64_t spatial = x.dim() - 2, wanted = num_spatial_dims(mode);
  TANDEM_CHECK(spatial >= 1 && spatial <= 3,
               "interpolate: Input Error: Only 3D, 4D and 5D input Tensors supported (got ", x.dim(), "D)");
  TANDEM_CHECK(wanted == 0 || wanted == spatial, "interpolate: Got ", x.dim(), "D input, but ", mode_name(mode),
               " mode needs ", wanted + 2, "D input");
  TANDEM_CHECK(wanted != 0 || !align_corners,
               "interpolate: align_corners option can only be set with the interpolating modes: linear | bilinear | "
               "bicubic | trilinear, but mode is ",
               mode_name(mode));
  TANDEM_CHECK(output_size.has_value() != scale_factor.has_value(), "interpolate: ",
               output_size ? "only one of size or scale_factor should be defined"
                           : "either size or scale_factor should be defined");
  TANDEM_CHECK(!recompute_scale_factor || scale_factor,
               "interpolate: recompute_scale_factor is not meaningful with an explicit size.");
  Shape size;
  std::vector<std::optional<double>> scales;
  if (output_size) {
    size = IntArrayRef(*output_size);
    TANDEM_CHECK(static_cast<int64_t>(size.size()) == spatial,
                 "interpolate: Input and output must have the same number of spatial dimensions, but got input with "
                 "spatial dimensions of ",
                 x.sizes().slice(2, static_cast<size_t>(spatial)), " and output size of ", IntArrayRef(size));
  } else {
    const std::vector<double>& factors = *scale_factor;
    TANDEM_CHECK(static_cast<int64_t>(factors.size()) == spatial,
                 "interpolate: Input and scale_factor must have the same number of spatial dimensions, but got input "
                 "with spatial dimensions of ",
                 x.sizes().slice(2, static_cast<size_t>(spatial)), " and scale_factor of shape ",
                 ArrayRef<double>(factors));
    for (size_t d = 0; d < factors.size(); ++d) {
      TANDEM_CHECK(factors[d] > 0, "interpolate: scale_factor is ", ArrayRef<double>(factors),
                   "; each must be above 0");
      size.push_back(
          static_cast<int64_t>(std::floor(static_cast<double>(x.size(static_cast<int64_t>(d) + 2)) * factors[d])));
      if (!recompute_scale_factor) scales.emplace_back(factors[d]);
    }
  }
  if (mode == InterpolationMode::area) {
    if (spatial == 1) return adaptive_avg_pool1d(x, size[0]);
    return spatial == 2 ? adaptive_avg_pool2d(x, IntArrayRef(size)) : adaptive_avg_pool3d(x, IntArrayRef(size));
  }
  const Resampling kind = mode == InterpolationMode::nearest         ? Resampling::nearest
                          : mode == InterpolationMode::nearest_exact ? Resampling::nearest_exact
                          : mode == InterpolationMode::bicubic       ? Resampling::cubic
                                                                     : Resampling::linear;
  return resample("interpolate", x, size, scales, kind, align_corners.value_or(false));
}

}  // namespace tandem
