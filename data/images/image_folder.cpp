// Implements ImageFolder: lists the images in each class's folder and its subfolders, detects links that form a loop,
// and reads the images.
#include "tandem/data/images/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tandem/core/internal.h"
#include "tandem/data/images/image.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem::data::datasets {

template class Dataset<ImageFolder>;

namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

std::vector<std::string> list_class_folders(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error))
    if (std::error_code ignored; at->is_directory(ignored)) names.push_back(at->path().filename().string());
  TANDEM_CHECK(!error, "ImageFolder: cannot read ", root, ": ", error.message());
  TANDEM_CHECK(!names.empty(), "ImageFolder: ", root, " has no folders; it must have one for each class");
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns whether entry is a link to a folder that contains it. Following such links would never end.
bool is_symlink_cycle(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (!entry.is_symlink(ignored) || !entry.is_directory(ignored)) return false;
  const fs::path target = fs::canonical(entry.path(), ignored);
  const fs::path folder = fs::canonical(entry.path().parent_path(), ignored);
  return std::mismatch(target.begin(), target.end(), folder.begin(), folder.end()).first == target.end();
}

std::vector<fs::path> list_images(const fs::path& folder) {
  std::vector<fs::path> images;
  std::error_code error;
  using Walk = fs::recursive_directory_iterator;
  for (Walk at(folder, fs::directory_options::follow_directory_symlink, error), end; !error && at != end;
       at.increment(error)) {
    TANDEM_CHECK(!is_symlink_cycle(*at), "ImageFolder: ", at->path().string(),
                 " is a link to a folder that contains it; remove the link");
    if (std::error_code ignored; is_image(at->path()) && at->is_regular_file(ignored)) images.push_back(at->path());
  }
  TANDEM_CHECK(!error, "ImageFolder: cannot read the contents of ", folder.string(), ": ", error.message());
  TANDEM_CHECK(!images.empty(), "ImageFolder: the class ", folder.string(),
               " has no images; files that end with .jpg, .jpeg or .png are accepted");
  const auto key = [](const fs::path& path) {
    return std::pair(path.parent_path().string(), path.filename().string());
  };
  std::sort(images.begin(), images.end(), [&](const fs::path& a, const fs::path& b) { return key(a) < key(b); });
  return images;
}

}  // namespace

std::optional<size_t> ImageFolder::size() const { return folder_contents_->samples.size(); }

ImageFolder::ImageFolder(const std::string& root) {
  auto files = std::make_shared<FolderContents>();
  files->classes = list_class_folders(root);
  for (const std::string& name : files->classes) {
    const auto number = static_cast<int64_t>(files->class_to_idx.size());
    files->class_to_idx[name] = number;
    for (const fs::path& image : list_images(fs::path(root) / name))
      files->samples.emplace_back(image.string(), number);
  }
  folder_contents_ = std::move(files);
}

Example<> ImageFolder::get(size_t index) {
  const auto& samples = folder_contents_->samples;
  TANDEM_CHECK_AS(IndexError, index < samples.size(), "get: index ", index, " out of range for ", samples.size(),
                  " images");
  const auto& [path, number] = samples[index];
  return {read_image(path).to(kFloat32).div_(255), core::scalar(number, kInt64, kCPU)};
}

}  // namespace tandem::data::datasets
