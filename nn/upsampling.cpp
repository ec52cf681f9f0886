// Upsampling: checks of options, and which operation a mode means.
#include "tandem/nn/upsampling.h"

#include <cmath>
#include <sstream>

#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
namespace {
/// The names of a mode in Python and of LibTorch's constant, in the order of InterpolationMode.
constexpr const char* kModeNames[][2] = {
    {"nearest", "kNearest"},     {"linear", "kLinear"}, {"bilinear", "kBilinear"},         {"bicubic", "kBicubic"},
    {"trilinear", "kTrilinear"}, {"area", "kArea"},     {"nearest-exact", "kNearestExact"}};
}  // namespace
const char* mode_name(InterpolationMode mode) { return kModeNames[static_cast<size_t>(mode)][0]; }
}  // namespace tandem::detail

namespace tandem::nn {
TANDEM_ARG_SETTER(UpsampleOptions, std::optional<std::vector<int64_t>>, size);
TANDEM_ARG_SETTER(UpsampleOptions, std::optional<std::vector<double>>, scale_factor);
namespace {

/// As Python prints a tuple, one number for equal ones.
template <class T> std::string numbers_text(const std::vector<T>& numbers) {
  bool same = !numbers.empty();
  for (const T n : numbers) same = same && n == numbers[0];
  if (same) return printed(numbers[0]);
  std::string text;
  for (const T n : numbers) text += (text.empty() ? "(" : ", ") + printed(n);
  return text + ")";
}
/// As LibTorch prints a list.
template <class T> std::string list_text(const std::vector<T>& numbers) {
  std::ostringstream out;
  for (const T n : numbers) out << (out.tellp() > 0 ? ", " : "[") << n;
  return out.str() + "]";
}
std::string upsample_text(const UpsampleOptions& o) {
  if (prints_as_libtorch)
    return (o.scale_factor() ? "scale_factor=" + list_text(*o.scale_factor())
            : o.size()       ? "size=" + list_text(*o.size())
                             : "size=None") +
           ", mode=" + detail::kModeNames[static_cast<size_t>(o.mode().mode)][1];
  std::string text = o.scale_factor() ? "scale_factor=" + numbers_text(*o.scale_factor())
                     : o.size()       ? "size=" + numbers_text(*o.size())
                                      : "size=None";
  return text + ", mode='" + mode_name(o.mode()) + "'";
}

}  // namespace

TANDEM_MODULE_TEXT(Upsample, upsample_text(options))

namespace functional {
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<int64_t>>, size);
TANDEM_ARG_SETTER(InterpolateFuncOptions, std::optional<std::vector<double>>, scale_factor);
namespace {
/// How many dimensions a mode is for; 0: any.
int64_t dimensions_of(InterpolationMode mode) {
  switch (mode) {
    case InterpolationMode::linear: return 1;
    case InterpolationMode::bilinear:
    case InterpolationMode::bicubic: return 2;
    case InterpolationMode::trilinear: return 3;
    default: return 0;
  }
}
}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateFuncOptions& o) {
  const InterpolationMode mode = o.mode();
  const int64_t spatial = x.dim() - 2, wanted = dimensions_of(mode);
  TANDEM_CHECK(
      spatial >= 1 && spatial <= 3 && (wanted == 0 || wanted == spatial), "interpolate: x is ", x.sizes(),
      " and mode is ", mode_name(mode),
      "; accepted: (N, C, W), (N, C, H, W) and (N, C, D, H, W), of which linear is for the first, bilinear and "
      "bicubic for the second, trilinear for the third");
  TANDEM_CHECK(wanted != 0 || !o.align_corners(), "interpolate: mode is ", mode_name(mode),
               " and align_corners is set; accepted for linear, bilinear, bicubic and trilinear only");
  TANDEM_CHECK(o.size().has_value() != o.scale_factor().has_value(),
               "interpolate: one of size and scale_factor must be set, and not both");
  TANDEM_CHECK(!o.recompute_scale_factor().value_or(false) || o.scale_factor(),
               "interpolate: recompute_scale_factor is set without scale_factor");
  Shape size;
  std::vector<std::optional<double>> scales;
  if (o.size()) {
    size = IntArrayRef(*o.size());
    TANDEM_CHECK(static_cast<int64_t>(size.size()) == spatial, "interpolate: x is ", x.sizes(), " and size is ",
                 IntArrayRef(size), "; accepted: ", spatial, " numbers");
  } else {
    const std::vector<double>& factors = *o.scale_factor();
    TANDEM_CHECK(static_cast<int64_t>(factors.size()) == spatial, "interpolate: x is ", x.sizes(), " and there are ",
                 factors.size(), " scale factors; accepted: ", spatial);
    for (size_t d = 0; d < factors.size(); ++d) {
      TANDEM_CHECK(factors[d] > 0, "interpolate: a scale factor is ", factors[d], "; accepted: above 0");
      size.push_back(
          static_cast<int64_t>(std::floor(static_cast<double>(x.size(static_cast<int64_t>(d) + 2)) * factors[d])));
      if (!o.recompute_scale_factor().value_or(false)) scales.emplace_back(factors[d]);
    }
  }
  if (mode == InterpolationMode::area) {
    if (spatial == 1) return tandem::adaptive_avg_pool1d(x, size[0]);
    return spatial == 2 ? tandem::adaptive_avg_pool2d(x, IntArrayRef(size))
                        : tandem::adaptive_avg_pool3d(x, IntArrayRef(size));
  }
  using tandem::detail::Resampling;
  const Resampling kind = mode == InterpolationMode::nearest         ? Resampling::nearest
                          : mode == InterpolationMode::nearest_exact ? Resampling::nearest_exact
                          : mode == InterpolationMode::bicubic       ? Resampling::cubic
                                                                     : Resampling::linear;
  return tandem::detail::resample("interpolate", x, size, scales, kind, o.align_corners().value_or(false));
}
}  // namespace functional

}  // namespace tandem::nn
