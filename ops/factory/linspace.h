// Sequences with a given number of values: linspace, logspace.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// The start or end of a sequence as a parameter: a number, a Scalar, or a 0-dim tensor.
class SequenceEnd {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> SequenceEnd(T value) : value_(value) {}
  SequenceEnd(const Scalar& value) : value_(value) {}
  /// @throws Error if the tensor has dimensions
  SequenceEnd(const Tensor& value);
  operator double() const { return value_.to<double>(); }

 private:
  Scalar value_;
};
}  // namespace detail

/// Returns `steps` evenly spaced values from start to end, both included. For an integer dtype, first start and end and
/// then all values are truncated to integers.
Tensor linspace(detail::SequenceEnd start, detail::SequenceEnd end, int64_t steps, const TensorOptions& options = {});
/// Returns `steps` powers of `base` with the exponents linspace(start, end, steps).
Tensor logspace(detail::SequenceEnd start, detail::SequenceEnd end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});

}  // namespace tandem
