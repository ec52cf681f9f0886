// Lists of integers: IntArrayRef, a view that brace lists convert to, and Shape, a short list stored inline.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/core/loop/loop_types.h"
#include "tandem/core/print/print_style.h"

namespace tandem {

/// A non-owning list, like std::span, that also accepts `{2, 3}`. As in LibTorch, it must not outlive the elements it
/// refers to.
template <class T> class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  ArrayRef(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
  template <size_t N> constexpr ArrayRef(const std::array<T, N>& list) : data_(list.data()), size_(N) {}
#pragma GCC diagnostic push
#if !defined(__clang__)
// The warning does not apply to function parameters: the list exists until the call returns.
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop

  /// Pointer to the first element.
  constexpr const T* begin() const { return data_; }
  /// Pointer past the last element.
  constexpr const T* end() const { return data_ + size_; }
  /// Address of the first element; may be null if the list is empty.
  constexpr const T* data() const { return data_; }
  /// Number of elements.
  constexpr size_t size() const { return size_; }
  /// Whether the list is empty.
  constexpr bool empty() const { return size_ == 0; }
  /// Element i, unchecked.
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  /// First element; the list must not be empty.
  constexpr const T& front() const { return data_[0]; }
  /// Last element; the list must not be empty.
  constexpr const T& back() const { return data_[size_ - 1]; }
  /// `count` elements starting at `begin`, unchecked.
  constexpr ArrayRef slice(size_t begin, size_t count) const { return {data_ + begin, count}; }
  /// All elements from `begin` on.
  constexpr ArrayRef slice(size_t begin) const { return {data_ + begin, size_ - begin}; }
  /// All elements but the first n.
  constexpr ArrayRef drop_front(size_t n = 1) const { return slice(n, size_ - n); }
  /// All elements but the last n.
  constexpr ArrayRef drop_back(size_t n = 1) const { return slice(0, size_ - n); }
  /// Element i. @throws IndexError unless i < size()
  const T& at(size_t i) const {
    TANDEM_CHECK_AS(IndexError, i < size_, "at: invalid index Index = ", i, "; Length = ", size_,
                    "; accepted: an index below Length");
    return data_[i];
  }
  /// Reverse iterator to the last element.
  constexpr std::reverse_iterator<const T*> rbegin() const { return std::reverse_iterator<const T*>(end()); }
  /// Reverse iterator before the first element.
  constexpr std::reverse_iterator<const T*> rend() const { return std::reverse_iterator<const T*>(begin()); }
  /// Whether both lists have the same elements in the same order.
  bool equals(ArrayRef other) const { return *this == other; }
  /// A copy that owns its elements.
  std::vector<T> vec() const { return {begin(), end()}; }
  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    // A loop, because std::equal calls memcmp, which is slower for such short lists.
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

namespace detail {
template <class T> std::ostream& print_list(std::ostream& out, ArrayRef<T> list) {
  const bool python = !prints_as_libtorch;
  out << (python ? '(' : '[');
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  return out << (!python ? "]" : list.size() == 1 ? ",)" : ")");
}
}  // namespace detail
/// Prints sizes as Python prints a tuple: (2, 3), or (5,) for a single size, or () for none. In LibTorch's style,
/// prints [2, 3], [5] or [].
inline std::ostream& operator<<(std::ostream& out, IntArrayRef sizes) { return detail::print_list(out, sizes); }
template <class T> std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  return detail::print_list(out, list);
}

namespace detail {

/// Sizes or strides of a tensor: at most kMaxDims integers, stored inline.
class Shape {
 public:
  Shape() = default;
  Shape(IntArrayRef list) : rank_(static_cast<int>(list.size())) {
    TANDEM_CHECK(list.size() <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", list.size());
    std::copy(list.begin(), list.end(), data_);
  }
  Shape(std::initializer_list<int64_t> list) : Shape(IntArrayRef(list.begin(), list.size())) {}
  Shape(const std::vector<int64_t>& list) : Shape(IntArrayRef(list)) {}
  Shape(size_t rank, int64_t value) : rank_(static_cast<int>(rank)) {
    TANDEM_CHECK(rank <= kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", rank);
    // Sets all kMaxDims elements, because a loop of constant length is faster.
    for (int64_t& each : data_) each = value;
  }

  operator IntArrayRef() const { return {data_, size()}; }
  size_t size() const { return static_cast<size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + rank_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + rank_; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t& operator[](size_t i) { return data_[i]; }
  int64_t operator[](size_t i) const { return data_[i]; }
  int64_t& back() { return data_[rank_ - 1]; }
  int64_t back() const { return data_[rank_ - 1]; }
  void push_back(int64_t value) {
    TANDEM_CHECK(rank_ < kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", rank_ + 1);
    data_[rank_++] = value;
  }
  void insert(size_t at, int64_t value) {
    TANDEM_CHECK(rank_ < kMaxDims, "a tensor has at most ", kMaxDims, " dimensions, got ", rank_ + 1);
    for (auto d = static_cast<size_t>(rank_++); d > at; --d) data_[d] = data_[d - 1];
    data_[at] = value;
  }
  void erase(size_t at) {
    std::copy(data_ + at + 1, data_ + rank_, data_ + at);
    --rank_;
  }
  std::vector<int64_t> vec() const { return {begin(), end()}; }
  friend bool operator==(const Shape& a, const Shape& b) { return IntArrayRef(a) == IntArrayRef(b); }
  friend bool operator==(const Shape& a, IntArrayRef b) { return IntArrayRef(a) == b; }
  friend std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << IntArrayRef(s); }

 private:
  int rank_ = 0;
  int64_t data_[kMaxDims];
};

/// Number of elements: the product of the sizes; 1 for a scalar.
inline int64_t numel_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}
/// Row-major strides, in elements.
inline Shape contiguous_strides(IntArrayRef sizes) {
  Shape strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
  return strides;
}

}  // namespace detail

}  // namespace tandem
