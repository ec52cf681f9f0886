// BatchPart: a request for one rank's part of a batch, which also knows the other ranks' parts.
#pragma once
#include <vector>

#include "tandem/core/array_ref.h"

namespace tandem::data {

/// A request for examples that are a part of a larger batch. It converts to the list of the part's indices, which most
/// datasets take. A dataset whose batches must be alike on all ranks, such as texts padded to the longest text of the
/// whole batch, takes a BatchPart.
struct BatchPart {
  BatchPart() = default;
  /// A part that is the whole batch.
  BatchPart(std::vector<size_t> indices) : indices(std::move(indices)), batch(this->indices) {}
  BatchPart(std::vector<size_t> indices, std::vector<size_t> batch)
      : indices(std::move(indices)), batch(std::move(batch)) {}
  /// Returns the indices of the part.
  operator ArrayRef<size_t>() const { return indices; }
  /// Number of examples in the part.
  size_t size() const { return indices.size(); }
  std::vector<size_t> indices;  // indices of the part's examples
  std::vector<size_t> batch;    // indices of all examples of the batch
};

}  // namespace tandem::data
