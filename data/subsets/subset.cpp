// Implements the lists of indices of Subset.
#include "tandem/data/subsets/subset.h"

#include "tandem/core/internal.h"

namespace tandem::data::datasets {

std::shared_ptr<const std::vector<size_t>> detail::make_subset_indices(std::vector<size_t> indices,
                                                                       std::optional<size_t> size) {
  if (size)
    for (const size_t index : indices)
      TANDEM_CHECK_AS(IndexError, index < *size, "Subset: index ", index,
                      " is out of range; accepted: indices below the dataset's size, ", *size);
  return std::make_shared<const std::vector<size_t>>(std::move(indices));
}

std::vector<size_t> detail::select_indices(const std::vector<size_t>& indices, ArrayRef<size_t> positions) {
  std::vector<size_t> selected;
  selected.reserve(positions.size());
  for (const size_t position : positions) {
    TANDEM_CHECK_AS(IndexError, position < indices.size(), "Subset: index ", position,
                    " is out of range; accepted: indices below the subset's size, ", indices.size());
    selected.push_back(indices[position]);
  }
  return selected;
}

}  // namespace tandem::data::datasets
