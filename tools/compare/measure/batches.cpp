// Implements Batches: loads FashionMNIST or makes random images, once for all samples and ranks of this process.
#include "tandem/tools/compare/measure/batches.h"

#include <map>
#include <mutex>

namespace tandem::tools::compare {
namespace {

/// Images and labels to train on. They lie outside the device allocators, so that measured memory does not include
/// them.
struct Images {
  std::vector<float> pixels;    // 28 x 28 for each image
  std::vector<int64_t> labels;  // one for each image
};

Batches::Images load_images(const std::string& folder) {
  using data::datasets::FashionMNIST;
  Tensor images, labels;
  if (folder.empty()) {
    Generator scratch;  // leaves the state of the default generator unchanged
    const GeneratorGuard guard(scratch);
    constexpr int64_t kImages = 4096, kClasses = 10;
    images = rand({kImages, 1, 28, 28});
    labels = randint(kClasses, {kImages}, kInt64);
  } else {
    const FashionMNIST set(folder, FashionMNIST::Mode::kTest);
    images = set.images();
    labels = set.targets();
  }
  const float* const first = images.data_ptr<float>();
  const int64_t* const label = labels.data_ptr<int64_t>();
  return {{first, first + images.numel()}, {label, label + labels.numel()}};
}

/// Returns the images of a folder; random ones for "". Loads them only once in this process, because all samples and
/// all ranks in threads read the same.
std::shared_ptr<const Batches::Images> shared_images(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Batches::Images>> loaded;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Batches::Images>& images = loaded[folder];
  if (!images) images = std::make_shared<const Batches::Images>(load_images(folder));
  return images;
}

}  // namespace

Batches::Batches(const Job& job, int rank, int ranks)
    : batch_(job.batch), rank_(rank), world_size_(ranks), shared_images_(shared_images(job.data)) {
  const auto n = static_cast<int64_t>(shared_images_->labels.size());
  // from_blob() takes memory that may be written to; index_select() only reads it.
  images_ = from_blob(const_cast<float*>(shared_images_->pixels.data()), {n, 1, 28, 28}, kFloat32);
  labels_ = from_blob(const_cast<int64_t*>(shared_images_->labels.data()), {n}, kInt64);
}

data::Example<> Batches::get(int64_t step) const {
  const int64_t first = batch_ * rank_ / world_size_, end = batch_ * (rank_ + 1) / world_size_, n = images_.size(0);
  const Tensor rows = arange(step * batch_ + first, step * batch_ + end).remainder(n);
  return {images_.index_select(0, rows), labels_.index_select(0, rows)};
}

}  // namespace tandem::tools::compare
