// ImageFolder: images in one folder for each class, as in Python's torchvision.datasets.ImageFolder.
#pragma once
#include <map>
#include <utility>

#include "tandem/data/dataset.h"

namespace tandem::data::datasets {

class ImageFolder;
extern template class Dataset<ImageFolder>;

/// Images root/CLASS/....jpg, .jpeg or .png (upper or lower case), including those in subfolders: data (3, height,
/// width) float32 in [0, 1], target the index of the class, a scalar int64. The classes are the folders in root, sorted
/// by name; examples are ordered by class, then by folder and name. Other files are ignored. Each image is read when it
/// is requested, as read_image does. To form batches, resize the images to one size (transforms::Resize).
class ImageFolder final : public Dataset<ImageFolder> {
 public:
  /// @throws Error that names the folder if it cannot be read, if it has no folders, if one of these has no images, or
  /// if it contains a link to a folder that contains the link
  explicit ImageFolder(const std::string& root);
  /// @throws Error that names the file if it cannot be read; IndexError if the index is too large
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  /// Returns the names of the classes; the position in the vector is the class's index.
  const std::vector<std::string>& classes() const noexcept { return folder_contents_->classes; }
  /// Returns a map from the names of the classes to their indices.
  const std::map<std::string, int64_t>& class_to_idx() const noexcept { return folder_contents_->class_to_idx; }
  /// Returns the path and the class index of each example.
  const std::vector<std::pair<std::string, int64_t>>& samples() const noexcept { return folder_contents_->samples; }

 private:
  struct FolderContents {
    std::vector<std::string> classes;
    std::map<std::string, int64_t> class_to_idx;
    std::vector<std::pair<std::string, int64_t>> samples;
  };
  std::shared_ptr<const FolderContents> folder_contents_;  // shared by all copies of the dataset
};

}  // namespace tandem::data::datasets
