// Implements the draws of the random transforms, in the order and with the distributions of torchvision.
#include "tandem/data/augmentation/augmentation.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randint.h"
#include "tandem/ops/random/randperm.h"

namespace tandem::data::transforms {
namespace {

constexpr int kMaxTries = 10;  // number of draws of a box before a transform gives up
constexpr Range kHueBounds{-0.5, 0.5};

double draw_uniform(Range range) {
  return range.first + (range.second - range.first) * rand({1}, kFloat64).item<double>();
}
int64_t draw_below(int64_t end) { return randint(end, {1}).item<int64_t>(); }
bool draw_event(double probability) { return draw_uniform({0, 1}) < probability; }

void check_probability(const char* transform, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, transform, ": p is ", p, "; accepted: 0 to 1");
}
void check_range(const char* transform, const char* option, Range range, double low, double high) {
  TANDEM_CHECK(low <= range.first && range.first <= range.second && range.second <= high, transform, ": ", option,
               " is ", range.first, " to ", range.second, "; accepted: two increasing numbers from ", low, " to ",
               high);
}
void check_size(const char* transform, const ImageSize& size) {
  TANDEM_CHECK(size[0] > 0 && size[1] > 0, transform, ": size is ", size[0], " x ", size[1], "; accepted: 1 or more");
}
void check_image(const char* transform, const Tensor& image) {
  TANDEM_CHECK(image.dim() >= 3, transform, ": the image is ", image.sizes(), "; accepted: (..., C, H, W)");
}

/// Returns the range of a factor; nullopt if the factor is always `center`, which changes nothing.
std::optional<Range> find_jitter_range(const char* option, const JitterRange& jitter, double center, Range bounds) {
  if (!jitter.is_set) return {};
  TANDEM_CHECK(jitter.has_bounds || jitter.amount >= 0, "ColorJitter: If ", option,
               " is a single number, it must be non negative, but it is ", jitter.amount);
  Range range = jitter.bounds;
  if (!jitter.has_bounds) {
    range = {center - jitter.amount, center + jitter.amount};
    if (bounds.first == 0) range.first = std::max(range.first, 0.0);
  }
  check_range("ColorJitter", option, range, bounds.first, bounds.second);
  if (range.first == center && range.second == center) return {};
  return range;
}

struct ColorRanges {
  explicit ColorRanges(const ColorJitterOptions& o)
      : brightness(find_jitter_range("brightness", o.brightness(), 1, {0, INFINITY})),
        contrast(find_jitter_range("contrast", o.contrast(), 1, {0, INFINITY})),
        saturation(find_jitter_range("saturation", o.saturation(), 1, {0, INFINITY})),
        hue(find_jitter_range("hue", o.hue(), 0, kHueBounds)) {}
  std::optional<Range> brightness, contrast, saturation, hue;
};

/// Draws the height and width of a box, by the ranges of its area and of one side divided by the other.
/// Returns (the side that is the dividend, the other side).
std::pair<int64_t, int64_t> draw_sides(double area, Range scale, Range ratio) {
  const double target = area * draw_uniform(scale);
  const double aspect = std::exp(draw_uniform({std::log(ratio.first), std::log(ratio.second)}));
  return {std::lrint(std::sqrt(target * aspect)), std::lrint(std::sqrt(target / aspect))};
}

}  // namespace

void detail::check_options(const RandomCropOptions& options) {
  check_size("RandomCrop", options.size());
  const std::string& mode = options.padding_mode();
  TANDEM_CHECK(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "symmetric",
               "RandomCrop: ", "padding_mode is ", mode, "; accepted: constant, edge, reflect and symmetric");
  const size_t count = options.padding().size();
  TANDEM_CHECK(count == 0 || count == 1 || count == 2 || count == 4, "RandomCrop: padding has ", count,
               " numbers; accepted: none, 1, 2 or 4");
}
void detail::check_options(const RandomResizedCropOptions& options) {
  check_size("RandomResizedCrop", options.size());
  check_range("RandomResizedCrop", "scale", options.scale(), 0, INFINITY);
  check_range("RandomResizedCrop", "ratio", options.ratio(), 1e-6, 1e6);
}
void detail::check_options(const RandomFlipOptions& options) { check_probability("RandomFlip", options.p()); }
void detail::check_options(const RandomRotationOptions& options) {
  check_range("RandomRotation", "degrees", options.degrees(), -1e6, 1e6);
}
void detail::check_options(const ColorJitterOptions& options) { ColorRanges{options}; }
void detail::check_options(const RandomGrayscaleOptions& options) { check_probability("RandomGrayscale", options.p()); }
void detail::check_options(const RandomErasingOptions& options) {
  check_probability("RandomErasing", options.p());
  check_range("RandomErasing", "scale", options.scale(), 0, 1);
  check_range("RandomErasing", "ratio", options.ratio(), 1e-6, 1e6);
}

Tensor detail::random_crop(const Tensor& image, const RandomCropOptions& options) {
  check_image("RandomCrop", image);
  const auto [height, width] = *options.size();
  const std::vector<int64_t>& p = options.padding();
  std::vector<int64_t> pad{0, 0, 0, 0};  // left, top, right, bottom
  if (p.size() == 1) pad = {p[0], p[0], p[0], p[0]};
  if (p.size() == 2) pad = {p[0], p[1], p[0], p[1]};
  if (p.size() == 4) pad = p;
  if (options.pad_if_needed()) {
    const int64_t rows = std::max<int64_t>(height - image.size(-2) - pad[1] - pad[3], 0);
    const int64_t columns = std::max<int64_t>(width - image.size(-1) - pad[0] - pad[2], 0);
    pad = {pad[0] + columns, pad[1] + rows, pad[2] + columns, pad[3] + rows};
  }
  const int64_t padded_height = image.size(-2) + pad[1] + pad[3], padded_width = image.size(-1) + pad[0] + pad[2];
  TANDEM_CHECK(height <= padded_height && width <= padded_width, "RandomCrop: Required crop size (", height, ", ",
               width, ") is larger than the padded input image size (", padded_height, ", ", padded_width, ").");
  const int64_t top = padded_height > height ? draw_below(padded_height - height + 1) : 0;
  const int64_t left = padded_width > width ? draw_below(padded_width - width + 1) : 0;
  const bool needs_pad = std::any_of(pad.begin(), pad.end(), [](int64_t side) { return side != 0; });
  return functional::crop(needs_pad ? functional::pad_image(image, pad, options.fill(), options.padding_mode()) : image,
                          top, left, height, width);
}

detail::CropBox detail::draw_resized_crop(int64_t height, int64_t width, const RandomResizedCropOptions& options) {
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  for (int i = 0; i < kMaxTries; ++i) {
    const auto [box_width, box_height] = draw_sides(h * w, options.scale(), options.ratio());
    if (box_width <= 0 || box_width > width || box_height <= 0 || box_height > height) continue;
    const int64_t top = draw_below(height - box_height + 1);
    return {top, draw_below(width - box_width + 1), box_height, box_width};
  }
  // No box fits: the largest box in the middle that has an accepted aspect ratio
  int64_t box_height = height, box_width = width;
  if (w / h < options.ratio().first) box_height = std::lrint(w / options.ratio().first);
  if (w / h > options.ratio().second) box_width = std::lrint(h * options.ratio().second);
  return {(height - box_height) / 2, (width - box_width) / 2, box_height, box_width};
}

Tensor detail::random_resized_crop(const Tensor& image, const RandomResizedCropOptions& options) {
  check_image("RandomResizedCrop", image);
  const CropBox box = draw_resized_crop(image.size(-2), image.size(-1), options);
  return functional::resized_crop(image, box.top, box.left, box.height, box.width, options.size()[0], options.size()[1],
                                  options.interpolation(), options.antialias());
}

Tensor detail::random_horizontal_flip(const Tensor& image, const RandomFlipOptions& options) {
  return draw_event(options.p()) ? functional::horizontal_flip(image) : image;
}
Tensor detail::random_vertical_flip(const Tensor& image, const RandomFlipOptions& options) {
  return draw_event(options.p()) ? functional::vertical_flip(image) : image;
}

Tensor detail::random_rotation(const Tensor& image, const RandomRotationOptions& options) {
  return functional::rotate(image, draw_uniform(options.degrees()), options.interpolation(), options.expand(),
                            options.center(), options.fill());
}

Tensor detail::color_jitter(const Tensor& image, const ColorJitterOptions& options) {
  const ColorRanges ranges(options);
  const Tensor order = randperm(4);
  const auto draw = [](const std::optional<Range>& range) {
    return range ? std::optional(draw_uniform(*range)) : std::nullopt;
  };
  const std::optional<double> brightness = draw(ranges.brightness), contrast = draw(ranges.contrast),
                              saturation = draw(ranges.saturation), hue = draw(ranges.hue);
  Tensor out = image;
  for (int i = 0; i < 4; ++i) {
    const int64_t step = order.data<int64_t>()[i];
    if (step == 0 && brightness) out = functional::adjust_brightness(out, *brightness);
    if (step == 1 && contrast) out = functional::adjust_contrast(out, *contrast);
    if (step == 2 && saturation) out = functional::adjust_saturation(out, *saturation);
    if (step == 3 && hue) out = functional::adjust_hue(out, *hue);
  }
  return out;
}

Tensor detail::random_grayscale(const Tensor& image, const RandomGrayscaleOptions& options) {
  check_image("RandomGrayscale", image);
  return draw_event(options.p()) ? functional::rgb_to_grayscale(image, image.size(-3)) : image;
}

Tensor detail::random_erasing(const Tensor& image, const RandomErasingOptions& options) {
  check_image("RandomErasing", image);
  const int64_t channels = image.size(-3), height = image.size(-2), width = image.size(-1);
  const auto count = static_cast<int64_t>(options.value().size());
  TANDEM_CHECK(options.random_value() || count == 1 || count == channels, "RandomErasing: If value is a sequence, it ",
               "should have either a single value or ", channels, " (number of inpt channels), but it has ", count);
  if (!draw_event(options.p())) return image;
  for (int i = 0; i < kMaxTries; ++i) {
    const double area = static_cast<double>(height) * static_cast<double>(width);
    const auto [box_height, box_width] = draw_sides(area, options.scale(), options.ratio());
    if (box_height >= height || box_width >= width) continue;
    const Tensor v = options.random_value() ? randn({channels, box_height, box_width}, kFloat32)
                                            : tensor(options.value(), kFloat64).view({count, 1, 1});
    const int64_t top = draw_below(height - box_height + 1);
    return functional::erase(image, top, draw_below(width - box_width + 1), box_height, box_width, v.to(image.device()),
                             options.inplace());
  }
  return image;
}

}  // namespace tandem::data::transforms
