// Types of arguments and results of linear algebra: OptionalDims, ThreeTensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// An optional list of dimensions.
struct OptionalDims {
  OptionalDims(std::nullopt_t = std::nullopt) {}
  OptionalDims(int64_t dim) : given(true), dims{dim} {}
  OptionalDims(IntArrayRef list) : given(true), dims(list) {}
  OptionalDims(const std::vector<int64_t>& list) : given(true), dims(list) {}
  OptionalDims(std::initializer_list<int64_t> list) : given(true), dims(list) {}
  bool given = false;
  Shape dims;
};
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

}  // namespace tandem::detail
