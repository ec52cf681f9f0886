// The sizes of windows, strides and paddings in two and three dimensions.
#pragma once
#include <array>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Two numbers (height, width), or one for both.
struct Pair : std::array<int64_t, 2> {
  Pair(int64_t both) : std::array<int64_t, 2>{both, both} {}
  Pair(int64_t height, int64_t width) : std::array<int64_t, 2>{height, width} {}
  Pair(std::initializer_list<int64_t> list) : Pair(IntArrayRef(list.begin(), list.size())) {}
  Pair(const std::vector<int64_t>& list) : Pair(IntArrayRef(list)) {}
  Pair(IntArrayRef list) {
    TANDEM_CHECK(list.size() == 1 || list.size() == 2, "expected one number or (height, width), got ", list);
    (*this)[0] = list.front(), (*this)[1] = list.back();
  }
};
/// Three numbers (depth, height, width), or one for all.
struct Triple : std::array<int64_t, 3> {
  Triple(int64_t all) : std::array<int64_t, 3>{all, all, all} {}
  Triple(int64_t depth, int64_t height, int64_t width) : std::array<int64_t, 3>{depth, height, width} {}
  Triple(std::initializer_list<int64_t> list) : Triple(IntArrayRef(list.begin(), list.size())) {}
  Triple(const std::vector<int64_t>& list) : Triple(IntArrayRef(list)) {}
  Triple(IntArrayRef list) {
    TANDEM_CHECK(list.size() == 1 || list.size() == 3, "expected one number or (depth, height, width), got ", list);
    (*this)[0] = list.front(), (*this)[1] = list[list.size() / 2], (*this)[2] = list.back();
  }
};

}  // namespace tandem::detail
