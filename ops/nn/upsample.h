// Resizing of images: interpolate, upsample_nearest1d, upsample_nearest2d, upsample_nearest3d, upsample_linear1d,
// upsample_bilinear2d, upsample_bicubic2d, upsample_trilinear3d.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Resize images x (N, C, W), (N, C, H, W) or (N, C, D, H, W) to output_size. Output pixel i is interpolated at the
/// input's position (i + 0.5) / scale - 0.5. With align_corners, this position is i (in - 1) / (out - 1), which maps
/// first pixel to first pixel and last to last. The nearest functions take input pixel floor(i / scale). A scale
/// defaults to output size over input size. bicubic is a convolution with Keys' kernel, a = -0.75. Half types are
/// computed in float32, except by the nearest functions.
Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales = {});
Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h = {},
                          std::optional<double> scales_w = {});
Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d = {},
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                         std::optional<double> scales = {});
Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                           std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                            std::optional<double> scales_d = {}, std::optional<double> scales_h = {},
                            std::optional<double> scales_w = {});

namespace detail {
/// The scales of all dimensions as a parameter: an optional list of numbers.
class ScaleFactors {
 public:
  ScaleFactors(const std::vector<double>& list) : list(list) {}
  ScaleFactors(ArrayRef<double> list) : list(list.vec()) {}
  ScaleFactors(std::optional<ArrayRef<double>> given) {
    if (given) list = given->vec();
  }
  std::optional<std::vector<double>> list;
};
}  // namespace detail
// The functions above with either a size or a list of scales, one for each dimension.
Tensor upsample_nearest1d(const Tensor& x, const detail::OptionalDims& size, const detail::ScaleFactors& scales);
Tensor upsample_nearest2d(const Tensor& x, const detail::OptionalDims& size, const detail::ScaleFactors& scales);
Tensor upsample_nearest3d(const Tensor& x, const detail::OptionalDims& size, const detail::ScaleFactors& scales);
Tensor upsample_linear1d(const Tensor& x, const detail::OptionalDims& size, detail::Flag align_corners,
                         const detail::ScaleFactors& scales);
Tensor upsample_bilinear2d(const Tensor& x, const detail::OptionalDims& size, detail::Flag align_corners,
                           const detail::ScaleFactors& scales);
Tensor upsample_bicubic2d(const Tensor& x, const detail::OptionalDims& size, detail::Flag align_corners,
                          const detail::ScaleFactors& scales);
Tensor upsample_trilinear3d(const Tensor& x, const detail::OptionalDims& size, detail::Flag align_corners,
                            const detail::ScaleFactors& scales);

namespace detail {
enum class Resampling { nearest, nearest_exact, linear, cubic };
/// Resizes x for the operation `op`, as the upsample functions do. scales has one element for each of `size`, or none.
Tensor resample(const char* op, const Tensor& x, IntArrayRef size, const std::vector<std::optional<double>>& scales,
                Resampling kind, bool align_corners);
}  // namespace detail

/// Modes of interpolation between pixels in interpolate and grid_sample. LibTorch's names are kNearest, kLinear, ...
enum class InterpolationMode { nearest, linear, bilinear, bicubic, trilinear, area, nearest_exact };
constexpr InterpolationMode kNearest = InterpolationMode::nearest, kBilinear = InterpolationMode::bilinear,
                            kBicubic = InterpolationMode::bicubic, kTrilinear = InterpolationMode::trilinear,
                            kArea = InterpolationMode::area, kNearestExact = InterpolationMode::nearest_exact;

namespace detail {
/// Returns the name of the mode in Python, for example "nearest-exact", or of LibTorch's constant, for example
/// "kNearestExact".
const char* mode_name(InterpolationMode mode, bool as_libtorch = false);
/// Computes nn::functional::interpolate, with the fields of its options as arguments.
Tensor interpolate(const Tensor& x, const std::optional<std::vector<int64_t>>& output_size,
                   const std::optional<std::vector<double>>& scale_factor, InterpolationMode mode,
                   std::optional<bool> align_corners, bool recompute_scale_factor);
}  // namespace detail

}  // namespace tandem
