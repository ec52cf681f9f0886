// Serves the batches that compared modes train on.
#pragma once
#include <memory>

#include "tandem/tandem.h"
#include "tandem/tools/compare/measure/sample.h"

namespace tandem::tools::compare {

/// Serves batches of consecutive images, and starts over at the end of the data set.
class Batches {
 public:
  /// Images and labels to train on. They lie outside the device allocators, so that measured memory does not include
  /// them.
  struct Images {
    std::vector<float> pixels;    // 28 x 28 for each image
    std::vector<int64_t> labels;  // one for each image
  };
  /// Uses the images in the folder job.data, or random ones. Loads them only once in this process.
  Batches(const Job& job, int rank, int ranks);
  /// Returns this rank's rows of the batch for `step`.
  data::Example<> get(int64_t step) const;

 private:
  int64_t batch_;
  int rank_, world_size_;
  std::shared_ptr<const Images> shared_images_;
  Tensor images_, labels_;
};

}  // namespace tandem::tools::compare
