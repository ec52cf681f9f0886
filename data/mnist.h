// The datasets MNIST and FashionMNIST, read from their published files.
#pragma once
#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

namespace detail {
/// Images stored as bytes, which take a quarter of the memory of floats. They are converted to float32 when a batch is
/// made.
class ImageSet {
 public:
  ImageSet(const char* dataset, const std::string& root, bool train);
  Example<> get(size_t index) const;
  Example<> get_stacked(ArrayRef<size_t> indices) const;
  Tensor images() const;  // (N, 1, 28, 28) float32 in [0, 1]
  const Tensor& targets() const { return targets_; }
  size_t size() const { return static_cast<size_t>(targets_.size(0)); }

 private:
  Tensor image_bytes_;  // (N, 28, 28) uint8
  Tensor targets_;      // (N) int64 in [0, 10)
};

template <class Self> class ImageDataset : public Dataset<Self> {
 public:
  enum class Mode { kTrain, kTest };
  Example<> get(size_t index) override { return image_set_.get(index); }
  Example<> get_stacked(ArrayRef<size_t> indices) const { return image_set_.get_stacked(indices); }
  std::optional<size_t> size() const override { return image_set_.size(); }
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  /// Returns all images, (N, 1, 28, 28) float32 in [0, 1]. Each call converts them again.
  Tensor images() const { return image_set_.images(); }
  /// Returns all labels, (N) int64.
  const Tensor& targets() const { return image_set_.targets(); }

 protected:
  ImageDataset(const char* name, const std::string& root, Mode mode)
      : mode_(mode), image_set_(name, root, mode == Mode::kTrain) {}

 private:
  Mode mode_;
  ImageSet image_set_;
};
}  // namespace detail

/// Handwritten digits: data (1, 28, 28) float32 in [0, 1], target a scalar int64 in [0, 10). `root` holds
/// train-images-idx3-ubyte, train-labels-idx1-ubyte (t10k-... for kTest), each plain or with the suffix .gz; the names
/// may contain ".idx" instead of "-idx".
/// @throws Error that names file and values if a file is missing or damaged, or the numbers of images and labels differ
class MNIST final : public detail::ImageDataset<MNIST> {
 public:
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
};

/// Articles of clothing, in MNIST's format.
class FashionMNIST final : public detail::ImageDataset<FashionMNIST> {
 public:
  explicit FashionMNIST(const std::string& root, Mode mode = Mode::kTrain);
};

}  // namespace tandem::data::datasets
