// Serves the batches that compared modes train on.
#pragma once
#include <memory>

#include "tandem/tandem.h"
#include "tandem/tools/compare/measure/sample.h"

namespace tandem::tools::compare {

/// Sizes of one example, which is one row of a batch.
struct ExampleSizes {
  std::vector<int64_t> input;  // sizes of the input
  bool tokens = false;         // inputs are int64 tokens; if false, they are float32 images
  int64_t targets = 1;         // number of int64 targets
  int64_t outputs = 0;         // number of float32 outputs of the network
  int64_t input_bytes() const;
  int64_t target_bytes() const { return targets * int64_t{sizeof(int64_t)}; }
  int64_t output_bytes() const { return outputs * int64_t{sizeof(float)}; }
};
/// Returns the sizes of an example for the network `model` (tools/demo/net.h).
ExampleSizes example_sizes(const std::string& model);

/// Serves batches of consecutive examples, and starts over at the end of the data set.
class Batches {
 public:
  /// Examples to train on. They lie outside the device allocators, so that measured memory does not include them.
  struct Examples {
    int64_t number = 0;
    std::vector<float> pixels;    // images: 28 x 28 for each
    std::vector<int64_t> tokens;  // texts: one after the other; with gpt, one more token, the last target
    std::vector<int64_t> labels;  // one for each image or text; empty for gpt, whose targets are the next tokens
  };
  /// Uses the images in the folder job.data, or random ones. For bert and gpt, uses random tokens. Loads the examples
  /// only once in this process.
  Batches(const Job& job, int rank, int ranks);
  /// Returns this rank's rows of the batch for `step`.
  data::Example<> get(int64_t step) const;

 private:
  int64_t batch_;
  int rank_, world_size_;
  std::shared_ptr<const Examples> examples_;
  Tensor inputs_, targets_;
};

}  // namespace tandem::tools::compare
