// Types of arguments and results of linear algebra: OptionalDims, ThreeTensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// An optional list of dimensions.
struct OptionalDims {
  OptionalDims(std::nullopt_t = std::nullopt) {}
  OptionalDims(int64_t dim) : has_value(true), dims{dim} {}
  OptionalDims(IntArrayRef list) : has_value(true), dims(list) {}
  OptionalDims(const std::optional<IntArrayRef>& list)
      : has_value(list.has_value()), dims(list.value_or(IntArrayRef())) {}
  OptionalDims(const std::vector<int64_t>& list) : has_value(true), dims(list) {}
  OptionalDims(std::initializer_list<int64_t> list) : has_value(true), dims(list) {}
  bool has_value = false;
  Shape dims;
};
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

}  // namespace tandem::detail
