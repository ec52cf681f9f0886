// Implements resizing with antialiasing: each pixel of the result is a weighted mean of the pixels that it covers,
// first along rows, then along columns.
#include "tandem/data/augmentation/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/core/internal.h"
#include "tandem/data/augmentation/geometry.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::data::transforms::functional {
namespace {

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }
/// Keys' cubic kernel with a = -0.5, as Pillow and PyTorch's antialiasing use it.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// Weights of the input pixels for one output pixel.
template <class T> struct Taps {
  int64_t first;           // index of the first input pixel
  std::vector<T> weights;  // of the pixels from `first` on; their sum is 1
};
template <class T> std::vector<Taps<T>> compute_taps(int64_t size, int64_t output_size, bool is_cubic) {
  const double scale = static_cast<double>(size) / static_cast<double>(output_size);
  const double filter_scale = std::max(scale, 1.0), support = (is_cubic ? 2 : 1) * filter_scale;
  std::vector<Taps<T>> all;
  for (int64_t i = 0; i < output_size; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t last = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), size);
    std::vector<double> weights;
    for (int64_t j = first; j < last; ++j) {
      const double x = (static_cast<double>(j) - center + 0.5) / filter_scale;
      weights.push_back(is_cubic ? cubic(x) : triangle(x));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    Taps<T> taps{first, {}};
    for (const double weight : weights) taps.weights.push_back(static_cast<T>(weight / sum));
    all.push_back(std::move(taps));
  }
  return all;
}

/// Resizes rows of `width` elements.
template <class T> void resize_rows(const T* x, T* y, int64_t rows, int64_t width, const std::vector<Taps<T>>& taps) {
  for (int64_t row = 0; row < rows; ++row, x += width)
    for (const Taps<T>& tap : taps) {
      T sum = 0;
      for (size_t j = 0; j < tap.weights.size(); ++j) sum += tap.weights[j] * x[tap.first + static_cast<int64_t>(j)];
      *y++ = sum;
    }
}
/// Resizes the columns of planes of height x width elements.
template <class T>
void resize_columns(const T* x, T* y, int64_t planes, int64_t height, int64_t width, const std::vector<Taps<T>>& taps) {
  for (int64_t plane = 0; plane < planes; ++plane, x += height * width)
    for (const Taps<T>& tap : taps) {
      std::fill(y, y + width, T(0));
      for (size_t j = 0; j < tap.weights.size(); ++j) {
        const T weight = tap.weights[j];
        const T* from = x + (tap.first + static_cast<int64_t>(j)) * width;
        for (int64_t column = 0; column < width; ++column) y[column] += weight * from[column];
      }
      y += width;
    }
}

template <class T> Tensor resize_with_antialias(const Tensor& image, int64_t height, int64_t width, bool is_cubic) {
  const Tensor x = image.contiguous();
  const int64_t old_height = x.size(-2), old_width = x.size(-1), planes = x.numel() / (old_height * old_width);
  Shape sizes = x.sizes();
  sizes[sizes.size() - 1] = width;
  const Tensor rows = core::empty(sizes, x.dtype(), kCPU);
  resize_rows(x.data<T>(), rows.data<T>(), planes * old_height, old_width, compute_taps<T>(old_width, width, is_cubic));
  sizes[sizes.size() - 2] = height;
  const Tensor out = core::empty(sizes, x.dtype(), kCPU);
  resize_columns(rows.data<T>(), out.data<T>(), planes, old_height, width,
                 compute_taps<T>(old_height, height, is_cubic));
  return out;
}

/// Returns the weights as a matrix (output pixels, input pixels).
Tensor make_weight_matrix(int64_t size, int64_t output_size, bool is_cubic) {
  const Tensor matrix = zeros({output_size, size}, kFloat64);
  const std::vector<Taps<double>> taps = compute_taps<double>(size, output_size, is_cubic);
  for (int64_t i = 0; i < output_size; ++i) {
    const Taps<double>& tap = taps[static_cast<size_t>(i)];
    std::copy(tap.weights.begin(), tap.weights.end(), matrix.data<double>() + i * size + tap.first);
  }
  return matrix;
}
/// Resizes an image on a GPU. Two matrix products multiply many zeros, but need no kernel of their own.
Tensor resize_by_matrices(const Tensor& image, int64_t height, int64_t width, bool is_cubic) {
  const Tensor rows = make_weight_matrix(image.size(-2), height, is_cubic).to(image.device(), image.dtype());
  const Tensor columns = make_weight_matrix(image.size(-1), width, is_cubic).to(image.device(), image.dtype());
  return rows.matmul(image).matmul(columns.t());
}

Tensor resize_floating(const Tensor& image, int64_t height, int64_t width, InterpolationMode mode, bool antialias) {
  const bool is_cubic = mode == InterpolationMode::bicubic;
  if (antialias && (is_cubic || mode == InterpolationMode::bilinear)) {
    const Tensor x = image.detach();
    if (!x.is_cpu()) return resize_by_matrices(x, height, width, is_cubic);
    return x.dtype() == kFloat64 ? resize_with_antialias<double>(x, height, width, is_cubic)
                                 : resize_with_antialias<float>(x, height, width, is_cubic);
  }
  const Tensor flat = image.reshape({-1, image.size(-3), image.size(-2), image.size(-1)});
  const Tensor out = interpolate(flat, std::vector<int64_t>{height, width}, {}, mode, {}, false);
  Shape sizes = image.sizes();
  sizes[sizes.size() - 2] = height;
  sizes[sizes.size() - 1] = width;
  return out.reshape(sizes);
}

}  // namespace

Tensor resize(const Tensor& image, int64_t height, int64_t width, InterpolationMode interpolation, bool antialias) {
  TANDEM_CHECK(image.dim() >= 3 && image.numel() > 0, "resize: the image is ", image.sizes(),
               "; accepted: (..., C, H, W), not empty");
  TANDEM_CHECK(height > 0 && width > 0, "resize: height x width is ", height, " x ", width, "; accepted: 1 or more");
  if (height == image.size(-2) && width == image.size(-1)) return image;
  if (image.dtype() == kFloat32 || image.dtype() == kFloat64)
    return resize_floating(image, height, width, interpolation, antialias);
  const Tensor resized = resize_floating(image.to(kFloat32), height, width, interpolation, antialias);
  if (image.is_floating_point()) return resized.to(image.dtype());
  // bicubic overshoots; a conversion of 256 to uint8 would give 0
  const Tensor valid = image.dtype() == kUInt8 ? resized.clamp(0, 255) : resized;
  return valid.round().to(image.dtype());
}

Tensor resize_shorter_edge(const Tensor& image, int64_t edge, InterpolationMode interpolation, bool antialias) {
  TANDEM_CHECK(image.dim() >= 3 && image.numel() > 0, "resize: the image is ", image.sizes(),
               "; accepted: (..., C, H, W), not empty");
  const int64_t height = image.size(-2), width = image.size(-1);
  // As torchvision, rounds the longer edge down
  return height <= width ? resize(image, edge, edge * width / height, interpolation, antialias)
                         : resize(image, edge * height / width, edge, interpolation, antialias);
}

Tensor resized_crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width,
                    int64_t output_height, int64_t output_width, InterpolationMode interpolation, bool antialias) {
  return resize(crop(image, top, left, height, width), output_height, output_width, interpolation, antialias);
}

}  // namespace tandem::data::transforms::functional
