// TensorIndex, the entry of index({...}): a number, Slice, None, Ellipsis or tensor; and the function index.
#pragma once
#include <ostream>
#include <variant>

#include "tandem/core/tensor.h"

namespace tandem {

namespace indexing {
/// The type of Ellipsis.
enum class EllipsisIndexType { Ellipsis };
/// Python's `...`: all dimensions that the other entries leave.
constexpr auto Ellipsis = EllipsisIndexType::Ellipsis;
/// Python's None: a new dimension of size 1.
constexpr std::nullopt_t None = std::nullopt;
/// start:stop:step along one dimension; what is left out means from the first, to the last, by one.
struct Slice {
  /// The first position and the one behind the last; negative ones count from the end.
  std::optional<int64_t> start, stop;
  /// From one position to the next; positive.
  int64_t step;
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
  /// start:stop:step, where what was left out is 0 and the largest int64, or for a negative step its reverse.
  friend std::ostream& operator<<(std::ostream& out, const Slice& slice);
};
/// One entry of index({...}): a number, a slice, None (a new dimension), Ellipsis, or an int64, int32 or bool tensor.
/// Several tensors broadcast, and point together. An integer tensor of no dimension is a number, a bool (tensor) of
/// none a mask of a new dimension of size 1. Without tensors that point, the result is a view.
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
  /// The ellipsis. @throws Error unless it is written "..."
  TensorIndex(const char* ellipsis);
  TensorIndex(Tensor index) : entry(std::move(index)) {}
  /// What it is; std::monostate for None.
  std::variant<std::monostate, int64_t, Slice, EllipsisIndexType, Tensor> entry;
  /// The entry as it is written in an index: a number, start:stop:step, None, ..., true, false or the tensor.
  friend std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
};
}  // namespace indexing

/// Reads, or writes `value` (which broadcasts) to, the places that several index tensors point to together; an entry
/// that is missing stands for all of its dimension. With `accumulate` values are added, to what comes twice twice.
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices);

}  // namespace tandem
