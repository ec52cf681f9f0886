// Implements the division of a ConcatDataset's requests by dataset, and the merging of stacked batches.
#include "tandem/data/subsets/concat_dataset.h"

#include <algorithm>

#include "tandem/core/internal.h"

namespace tandem::data::datasets {

std::vector<size_t> detail::add_up_sizes(const std::vector<std::optional<size_t>>& sizes) {
  std::vector<size_t> sums;
  size_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TANDEM_CHECK(sizes[i], "ConcatDataset: size() of dataset ", i, " is nullopt; accepted: datasets with a known size");
    sums.push_back(sum += *sizes[i]);
  }
  return sums;
}

RowPosition detail::locate_example(const std::vector<size_t>& cumulative_sizes, size_t index) {
  TANDEM_CHECK_AS(IndexError, index < cumulative_sizes.back(), "ConcatDataset: index ", index,
                  " is out of range; accepted: indices below the sum of the sizes, ", cumulative_sizes.back());
  const auto dataset = std::upper_bound(cumulative_sizes.begin(), cumulative_sizes.end(), index);
  const size_t first = dataset == cumulative_sizes.begin() ? 0 : *(dataset - 1);
  return {static_cast<size_t>(dataset - cumulative_sizes.begin()), index - first};
}

detail::DividedRequest detail::divide_request(const std::vector<size_t>& cumulative_sizes, ArrayRef<size_t> request) {
  constexpr size_t kUnused = SIZE_MAX;
  std::vector<size_t> slots(cumulative_sizes.size(), kUnused);  // position of each dataset in divided.datasets
  DividedRequest divided;
  for (const size_t index : request) {
    const RowPosition at = locate_example(cumulative_sizes, index);
    size_t& slot = slots[at.source];
    if (slot == kUnused) {
      slot = divided.datasets.size();
      divided.datasets.push_back(at.source);
      divided.indices.emplace_back();
    }
    divided.position.push_back({slot, divided.indices[slot].size()});
    divided.indices[slot].push_back(at.row);
  }
  return divided;
}

Example<> detail::merge_stacked(const std::vector<Example<>>& batches, const std::vector<RowPosition>& positions) {
  std::vector<Tensor> data, targets;
  data.reserve(batches.size());
  targets.reserve(batches.size());
  for (const Example<>& batch : batches) {
    data.push_back(batch.data);
    targets.push_back(batch.target);
  }
  return {merge_rows(data, positions), merge_rows(targets, positions)};
}
TensorExample detail::merge_stacked(const std::vector<TensorExample>& batches,
                                    const std::vector<RowPosition>& positions) {
  std::vector<Tensor> data;
  data.reserve(batches.size());
  for (const TensorExample& batch : batches) data.push_back(batch.data);
  return merge_rows(data, positions);
}

}  // namespace tandem::data::datasets
