// RunningMeans: weighted means of logged values, added up exactly over batches and ranks. Internal.
#pragma once
#include <map>

#include "tandem/train/training_module.h"

namespace tandem::train {

/// The sum and the weight of each logged value on this rank, in float64. A value on a GPU is not read before pack() or
/// read(), so that a step does not wait for the GPU.
class RunningMeans {
 public:
  void add(const detail::LoggedValue& value);
  void clear() { entries_.clear(); }
  /// Reads the values that are still on GPUs.
  void read();
  /// Returns the sums and weights as bytes.
  std::string pack();
  /// Returns the mean of each value over all ranks, from the results of pack() on all ranks.
  static std::map<std::string, double> merge(const std::vector<std::string>& of_ranks);
  void save(serialize::OutputArchive& archive);
  void load(serialize::InputArchive& archive);

 private:
  struct Entry {
    double sum = 0, weight = 0;
    std::vector<std::pair<Tensor, double>> unread = {};  // values on GPUs, with their factors
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace tandem::train
