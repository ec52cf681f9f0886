// TensorIndex, an entry of index({...}): a number, Slice, None, Ellipsis or tensor; and the function index.
#pragma once
#include <limits>
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
class Slice {
 public:
  /// start: first position. stop: the position after the last one. Negative positions count from the end. step:
  /// distance between positions; must be positive.
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, std::optional<int64_t> step = {})
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  /// Returns the first position. If it is missing: 0, or 2^62 - 1 if the step is negative.
  int64_t start() const { return start_.value_or(step_ < 0 ? kFar : 0); }
  /// Returns the position after the last one. If it is missing: 2^62 - 1, or -2^62 if the step is negative.
  int64_t stop() const { return stop_.value_or(step_ < 0 ? -kFar - 1 : kFar); }
  /// Returns the distance between positions.
  int64_t step() const { return step_; }
  /// Returns the first position; nullopt if it is missing.
  std::optional<int64_t> start_opt() const { return start_; }
  /// Returns the position after the last one; nullopt if it is missing.
  std::optional<int64_t> stop_opt() const { return stop_; }
  /// Prints start:stop:step.
  friend std::ostream& operator<<(std::ostream& out, const Slice& slice);

 private:
  static constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 2;  // the value for a missing end in LibTorch
  std::optional<int64_t> start_, stop_;
  int64_t step_;
};
/// An entry of index({...}): a number, a slice, None (a new dimension), Ellipsis, or an int64, int32 or bool tensor (a
/// uint8 tensor counts as a bool mask). Several tensors are broadcast and name positions together. A 0-dim integer
/// tensor counts as a number; a bool or 0-dim bool tensor adds a dimension of size 1 and masks it. Without index
/// tensors the result is a view.
class TensorIndex {
 public:
  template <class T>
  requires std::is_integral_v<T> TensorIndex(T index) {
    if constexpr (std::is_same_v<T, bool>) {
      entry = detail::core::scalar(index, kBool, kCPU);
      is_bool_ = true;
    } else {
      entry = static_cast<int64_t>(index);
    }
  }
  TensorIndex(Slice slice) : entry(slice) {}
  TensorIndex(std::nullopt_t) : entry(std::monostate()) {}
  TensorIndex(EllipsisIndexType e) : entry(e) {}
  /// Ellipsis, written as a string. @throws Error unless the string is "..."
  TensorIndex(const char* ellipsis);
  TensorIndex(Tensor index) : entry(std::move(index)) {}
  /// A missing tensor selects the whole dimension.
  TensorIndex(const std::optional<Tensor>& index) {
    if (index)
      entry = *index;
    else
      entry = Slice();
  }
  /// Whether the entry is None.
  bool is_none() const { return std::holds_alternative<std::monostate>(entry); }
  /// Whether the entry is Ellipsis.
  bool is_ellipsis() const { return std::holds_alternative<EllipsisIndexType>(entry); }
  /// Whether the entry is a number.
  bool is_integer() const { return std::holds_alternative<int64_t>(entry); }
  /// Whether the entry is a slice.
  bool is_slice() const { return std::holds_alternative<Slice>(entry); }
  /// Whether the entry is a bool, which is stored as a 0-dim tensor.
  bool is_boolean() const { return std::holds_alternative<Tensor>(entry) && is_bool_; }
  /// Whether the entry is a tensor, and no bool.
  bool is_tensor() const { return std::holds_alternative<Tensor>(entry) && !is_bool_; }
  /// Returns the number. @throws std::bad_variant_access if the entry is of another kind, as do the functions below
  int64_t integer() const { return std::get<int64_t>(entry); }
  /// Returns the bool.
  bool boolean() const { return std::get<Tensor>(entry).item<bool>(); }
  /// Returns the slice.
  const Slice& slice() const { return std::get<Slice>(entry); }
  /// Returns the tensor.
  const Tensor& tensor() const { return std::get<Tensor>(entry); }
  /// The entry's value; std::monostate for None.
  std::variant<std::monostate, int64_t, Slice, EllipsisIndexType, Tensor> entry;
  /// Prints the entry as it is written in an index: a number, start:stop:step, None, ..., true, false or the tensor.
  friend std::ostream& operator<<(std::ostream& out, const TensorIndex& index);

 private:
  bool is_bool_ = false;
};
}  // namespace indexing

/// Returns the elements of x at the positions that the index tensors give. The index tensors broadcast: their
/// corresponding elements together are one position. A missing tensor in the list selects the whole dimension.
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices);

}  // namespace tandem
