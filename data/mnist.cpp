// Reads the IDX files of MNIST or FashionMNIST, and returns their images as floats from 0 to 1.
#include "tandem/data/mnist.h"

#include "tandem/core/internal.h"
#include "tandem/data/idx.h"

namespace tandem::data::datasets::detail {
namespace {

constexpr int64_t kImageSize = 28, kPixelsPerImage = kImageSize * kImageSize, kNumClasses = 10;

void to_floats(const uint8_t* from, float* to, int64_t count) {
  // Divides by 255 like PyTorch's ToTensor, for equal rounding
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) / 255.f;
}

}  // namespace

ImageSet::ImageSet(const char* dataset, const std::string& root, bool train) {
  const std::string prefix = train ? "train" : "t10k";
  const std::string image_path = find_idx(root, prefix + "-images-idx3-ubyte");
  const std::string label_path = find_idx(root, prefix + "-labels-idx1-ubyte");
  image_bytes_ = read_idx(image_path, 3);
  TANDEM_CHECK(image_bytes_.size(1) == kImageSize && image_bytes_.size(2) == kImageSize, dataset, ": ", image_path,
               " has images of ", image_bytes_.size(1), " x ", image_bytes_.size(2), " pixels; accepted: 28 x 28");
  const Tensor labels = read_idx(label_path, 1);
  const int64_t count = labels.size(0);
  TANDEM_CHECK(count == image_bytes_.size(0), dataset, ": ", image_path, " has ", image_bytes_.size(0), " images, but ",
               label_path, " has ", count, " labels; accepted: one label for each image");
  targets_ = core::empty({count}, kInt64, kCPU);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = labels.data<uint8_t>()[i];
    TANDEM_CHECK(label < kNumClasses, dataset, ": label ", i, " of ", label_path, " is ", label, "; accepted: 0 to 9");
    targets_.data<int64_t>()[i] = label;
  }
}

Example<> ImageSet::get(size_t index) const {
  TANDEM_CHECK_AS(IndexError, index < size(), "get: index ", index, " out of range for ", size(), " images");
  Tensor image = core::empty({1, kImageSize, kImageSize}, kFloat32, kCPU);
  const auto i = static_cast<int64_t>(index);
  to_floats(image_bytes_.data<uint8_t>() + i * kPixelsPerImage, image.data<float>(), kPixelsPerImage);
  return {image, core::scalar(targets_.data<int64_t>()[i], kInt64, kCPU)};
}

Example<> ImageSet::get_stacked(ArrayRef<size_t> indices) const {
  Tensor targets = gather_rows(targets_, indices);  // checks the indices
  Tensor images = core::empty({targets.size(0), 1, kImageSize, kImageSize}, kFloat32, kCPU);
  float* to = images.data<float>();
  for (const size_t i : indices) {
    to_floats(image_bytes_.data<uint8_t>() + static_cast<int64_t>(i) * kPixelsPerImage, to, kPixelsPerImage);
    to += kPixelsPerImage;
  }
  return {images, targets};
}

Tensor ImageSet::images() const {
  Tensor images = core::empty({image_bytes_.size(0), 1, kImageSize, kImageSize}, kFloat32, kCPU);
  to_floats(image_bytes_.data<uint8_t>(), images.data<float>(), images.numel());
  return images;
}

}  // namespace tandem::data::datasets::detail

namespace tandem::data::datasets {
MNIST::MNIST(const std::string& root, Mode mode) : ImageDataset("MNIST", root, mode) {}
FashionMNIST::FashionMNIST(const std::string& root, Mode mode) : ImageDataset("FashionMNIST", root, mode) {}
}  // namespace tandem::data::datasets
