// Arranges the images of a batch in rows with padding, scales their values, and writes the PNG file.
#include "tandem/data/images/image_grid.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tandem/core/internal.h"
#include "tandem/data/images/tensor_to_png.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
TANDEM_ARG_SETTER(MakeGridOptions, std::optional<Range>, value_range);
namespace {

/// Shifts and scales `images` in place, so that the lower end of the range becomes 0 and the upper end 1. Values
/// outside of the range are clamped. The default range is from the smallest to the largest value.
void norm_range(const Tensor& images, const std::optional<MakeGridOptions::Range>& range) {
  const double low = range ? range->first : images.min().item<double>();
  const double high = range ? range->second : images.max().item<double>();
  images.clamp_(low, high).sub_(low).div_(std::max(high - low, 1e-5));
}

/// Returns one image or a batch as (N, C, H, W). A single channel (grey) becomes three equal channels.
Tensor to_image_batch(const Tensor& tensor) {
  TANDEM_CHECK(tensor.defined() && tensor.dim() >= 2 && tensor.dim() <= 4, "make_grid: the tensor is ",
               tensor.defined() ? tensor.sizes() : IntArrayRef(),
               "; accepted: (N, C, H, W), or one image (C, H, W) or (H, W)");
  TANDEM_CHECK(tensor.numel() > 0, "make_grid: the tensor is ", tensor.sizes(),
               ", which has no pixels; every size must be at least 1");
  Tensor images = tensor.detach();
  while (images.dim() < 4) images = images.unsqueeze(0);
  if (images.size(1) == 1) images = cat({images, images, images}, 1);
  return images;
}

std::vector<Tensor> check_images(const std::vector<Tensor>& images) {
  TANDEM_CHECK(!images.empty(), "make_grid: the list has no images; accepted: one or more");
  for (const Tensor& image : images)
    TANDEM_CHECK(image.defined() && image.dim() == 3 && image.sizes() == images[0].sizes(), "make_grid: image ",
                 &image - images.data(), " of the list is ", image.defined() ? image.sizes() : IntArrayRef(),
                 " and the first is ", images[0].sizes(), "; accepted: (C, H, W), equal for all images");
  return images;
}

/// Writes a temporary file and renames it to `path`. If writing fails, an existing file at `path` is unchanged.
void write_file_atomically(const std::string& path, const std::string& bytes) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const std::string reason = std::strerror(errno);
  std::remove(temporary.c_str());
  TANDEM_FAIL("save_image: cannot write ", path, ": ", reason);
}

}  // namespace

Tensor make_grid(const Tensor& tensor, const MakeGridOptions& o) {
  TANDEM_CHECK(o.nrow() >= 1 && o.padding() >= 0, "make_grid: nrow is ", o.nrow(), " and padding is ", o.padding(),
               "; accepted: nrow of 1 or more and padding of 0 or more");
  const NoGradGuard guard;
  Tensor images = to_image_batch(tensor);
  if (o.normalize()) {
    const auto range = o.value_range().value_or(MakeGridOptions::Range());
    TANDEM_CHECK(range.first <= range.second, "make_grid: value_range is (", range.first, ", ", range.second,
                 "); accepted: the lower number first");
    TANDEM_CHECK(images.is_floating_point(), "make_grid: normalize needs a floating point tensor, got ", images.dtype(),
                 "; convert it with to(kFloat32).div(255)");
    images = images.clone();
    if (o.scale_each())
      for (const Tensor& image : images.unbind()) norm_range(image, o.value_range());
    else
      norm_range(images, o.value_range());
  }
  const int64_t n = images.size(0);
  if (n == 1) return images.squeeze(0);
  const int64_t columns = std::min(o.nrow(), n), rows = (n + columns - 1) / columns;
  const int64_t height = images.size(2) + o.padding(), width = images.size(3) + o.padding();
  const Tensor grid = full({images.size(1), height * rows + o.padding(), width * columns + o.padding()}, o.pad_value(),
                           images.options());
  for (int64_t i = 0; i < n; ++i)
    grid.narrow(1, i / columns * height + o.padding(), images.size(2))
        .narrow(2, i % columns * width + o.padding(), images.size(3))
        .copy_(images[i]);
  return grid;
}
Tensor make_grid(const std::vector<Tensor>& images, const MakeGridOptions& options) {
  return make_grid(stack(check_images(images)), options);
}

void save_image(const Tensor& tensor, const std::string& fp, const MakeGridOptions& options) {
  TANDEM_CHECK(fp.ends_with(".png"), "save_image: ", fp, " does not end in .png; only PNG files can be written");
  const NoGradGuard guard;
  Tensor grid = make_grid(tensor, options);
  TANDEM_CHECK(grid.is_floating_point() || grid.dtype() == kUInt8, "save_image: the tensor is ", grid.dtype(),
               "; accepted: floating point from 0 to 1, or uint8");
  TANDEM_CHECK(grid.size(0) <= 4, "save_image: the tensor is ", tensor.sizes(), ", which has ", grid.size(0),
               " channels; accepted: 1 to 4");
  if (grid.dtype() != kUInt8) {
    check_no_nan("save_image: the tensor", grid);
    grid = grid.mul(255).add_(0.5).clamp_(0, 255).to(kUInt8);  // 0.5: rounds to nearest
  }
  const std::string bytes = tensor_to_png("save_image", grid);
  write_file_atomically(fp, bytes);
}
void save_image(const std::vector<Tensor>& images, const std::string& fp, const MakeGridOptions& options) {
  save_image(stack(check_images(images)), fp, options);
}

}  // namespace tandem::data
