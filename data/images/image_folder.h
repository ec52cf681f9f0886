// ImageFolder: images in a folder for each class, as Python's torchvision.datasets.ImageFolder reads them.
#pragma once
#include <map>
#include <utility>

#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

class ImageFolder;
extern template class Dataset<ImageFolder>;

/// The images root/CLASS/....jpg, .jpeg or .png (in any case), also in folders below those: data (3, height, width)
/// float32 in [0, 1], target the class's number, a scalar int64. The classes are the folders in root, sorted by name;
/// examples come by class, then by folder and name. Other files are left out. An image is read when it is asked for, as
/// read_image does; to make batches, bring all to one size (transforms::Resize).
class ImageFolder final : public Dataset<ImageFolder> {
 public:
  /// @throws Error naming the folder when it cannot be read, has no folders, one of these has no images, or it holds a
  ///         link to a folder that the link is in
  explicit ImageFolder(const std::string& root);
  /// @throws Error naming the file when it cannot be read; IndexError for an index that is too large
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  /// The classes' names, by number.
  const std::vector<std::string>& classes() const noexcept { return files_->classes; }
  /// The classes' numbers, by name.
  const std::map<std::string, int64_t>& class_to_idx() const noexcept { return files_->class_to_idx; }
  /// Path and class of each example.
  const std::vector<std::pair<std::string, int64_t>>& samples() const noexcept { return files_->samples; }

 private:
  struct Files {
    std::vector<std::string> classes;
    std::map<std::string, int64_t> class_to_idx;
    std::vector<std::pair<std::string, int64_t>> samples;
  };
  std::shared_ptr<const Files> files_;  // which the copies for a loader's workers share
};

}  // namespace tandem::data::datasets
