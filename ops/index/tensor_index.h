// TensorIndex, an entry of index({...}): a number, Slice, None, Ellipsis or tensor; and the function index.
#pragma once
#include <ostream>
#include <variant>

#include "tandem/core/tensor.h"

namespace tandem {

namespace indexing {
/// The type of Ellipsis.
enum class EllipsisIndexType { Ellipsis };
/// Python's `...`: all dimensions that the other entries do not cover.
constexpr auto Ellipsis = EllipsisIndexType::Ellipsis;
/// Python's None: a new dimension of size 1.
constexpr std::nullopt_t None = std::nullopt;
/// Python's start:stop:step along one dimension. The defaults are the first position, the end, and 1.
struct Slice {
  /// start: first position. stop: the position after the last one. Negative positions count from the end.
  std::optional<int64_t> start, stop;
  /// Distance between positions; must be positive.
  int64_t step;
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
  /// Prints start:stop:step. A missing start is printed as 0 and a missing stop as 2^62 - 1; for a negative step, as
  /// 2^62 - 1 and -2^62.
  friend std::ostream& operator<<(std::ostream& out, const Slice& slice);
};
/// An entry of index({...}): a number, a slice, None (a new dimension), Ellipsis, or an int64, int32 or bool tensor (a
/// uint8 tensor counts as a bool mask). Several tensors are broadcast and name positions together. A 0-dim integer
/// tensor counts as a number; a bool or 0-dim bool tensor adds a dimension of size 1 and masks it. Without index
/// tensors the result is a view.
class TensorIndex {
 public:
  template <class T>
  requires std::is_integral_v<T> TensorIndex(T index) {
    if constexpr (std::is_same_v<T, bool>)
      entry = detail::core::scalar(index, kBool, kCPU);
    else
      entry = static_cast<int64_t>(index);
  }
  TensorIndex(Slice slice) : entry(slice) {}
  TensorIndex(std::nullopt_t) : entry(std::monostate()) {}
  TensorIndex(EllipsisIndexType e) : entry(e) {}
  /// Ellipsis, written as a string. @throws Error unless the string is "..."
  TensorIndex(const char* ellipsis);
  TensorIndex(Tensor index) : entry(std::move(index)) {}
  /// The entry's value; std::monostate for None.
  std::variant<std::monostate, int64_t, Slice, EllipsisIndexType, Tensor> entry;
  /// Prints the entry as it is written in an index: a number, start:stop:step, None, ..., true, false or the tensor.
  friend std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
};
}  // namespace indexing

/// Returns the elements of x at the positions that the index tensors give. The index tensors broadcast: their
/// corresponding elements together are one position. A missing tensor in the list selects the whole dimension.
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices);

}  // namespace tandem
