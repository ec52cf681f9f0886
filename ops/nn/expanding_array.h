// ExpandingArray: kernel sizes, strides and paddings in one, two and three dimensions.
#pragma once
#include <array>
#include <concepts>

#include "tandem/core/tensor.h"

namespace tandem {

/// D numbers, one for each dimension, given as a list or as one number for all dimensions: a kernel size, stride or
/// padding.
template <size_t D> struct ExpandingArray : std::array<int64_t, D> {
  ExpandingArray(int64_t all) { this->fill(all); }
  template <std::integral... Sizes>
  requires(D > 1 && sizeof...(Sizes) == D) ExpandingArray(Sizes... sizes)
      : std::array<int64_t, D>{static_cast<int64_t>(sizes)...} {}
  ExpandingArray(std::initializer_list<int64_t> list) : ExpandingArray(IntArrayRef(list.begin(), list.size())) {}
  ExpandingArray(const std::vector<int64_t>& list) : ExpandingArray(IntArrayRef(list)) {}
  ExpandingArray(const std::array<int64_t, D>& sizes) : std::array<int64_t, D>(sizes) {}
  ExpandingArray(IntArrayRef list) {
    TANDEM_CHECK(list.size() == 1 || list.size() == D, "Expected ", D, " values, but instead got ", list.size(),
                 "; an option with a value for each dimension, such as kernel_size or stride, accepts one number",
                 D == 2   ? " or (height, width)"
                 : D == 3 ? " or (depth, height, width)"
                          : "");
    for (size_t d = 0; d < D; ++d) (*this)[d] = list.size() == 1 ? list.front() : list[d];
  }
  /// Returns the numbers as a std::array.
  const std::array<int64_t, D>& operator*() const { return *this; }
  const std::array<int64_t, D>* operator->() const { return this; }
};

namespace detail {
using Single = ExpandingArray<1>;  // one number
using Pair = ExpandingArray<2>;    // (height, width)
using Triple = ExpandingArray<3>;  // (depth, height, width)
}  // namespace detail

}  // namespace tandem

namespace tandem::detail {
/// A list of sizes of another type than Size, such as a std::vector.
template <class List, class Size>
concept SizeList =
    std::is_convertible_v<const List&, IntArrayRef> && !std::is_arithmetic_v<List> && !std::is_same_v<List, Size>;
}  // namespace tandem::detail
