// Example: what a dataset holds at one index, and a whole batch of them after Stack.
#pragma once
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::data {

namespace example {
/// The target of examples that have none.
using NoTarget = void;
}  // namespace example

/// An input and what a model should make of it.
template <class Data = Tensor, class Target = Tensor> struct Example {
  using DataType = Data;
  using TargetType = Target;
  Example() = default;
  Example(Data data, Target target) : data(std::move(data)), target(std::move(target)) {}
  Data data;
  Target target;
};

/// An input alone.
template <class Data> struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;
  Example() = default;
  Example(Data data) : data(std::move(data)) {}
  operator Data&() { return data; }
  operator const Data&() const { return data; }
  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace tandem::data
