// Example: an element of a dataset or, after Stack, a whole batch of elements.
#pragma once
#include "tandem/core/tensor_tree.h"

namespace tandem::data {

namespace example {
/// Target type of examples without a target.
using NoTarget = void;
}  // namespace example

/// An input and its target.
template <class Data = Tensor, class Target = Tensor> struct Example {
  using DataType = Data;
  using TargetType = Target;
  Example() = default;
  Example(Data data, Target target) : data(std::move(data)), target(std::move(target)) {}
  /// The input.
  Data data;
  /// Value that a model should predict from `data`, such as the index of a class.
  Target target;
};

/// An input without a target.
template <class Data> struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;
  Example() = default;
  Example(Data data) : data(std::move(data)) {}
  /// Returns the input.
  operator Data&() { return data; }
  /// Returns the input.
  operator const Data&() const { return data; }
  Data data;
};

using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace tandem::data

namespace tandem {
template <class Data, class Target>
struct TensorTree<data::Example<Data, Target>> : detail::ComposedTensorTree<Data, Target> {
  template <class Value, class F> static void visit(Value& example, const F& f) {
    detail::visit_tensors(example.data, f);
    detail::visit_tensors(example.target, f);
  }
};
template <class Data>
struct TensorTree<data::Example<Data, data::example::NoTarget>> : detail::ComposedTensorTree<Data> {
  template <class Value, class F> static void visit(Value& example, const F& f) {
    detail::visit_tensors(example.data, f);
  }
};
}  // namespace tandem
