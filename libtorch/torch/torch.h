// Tandem under LibTorch's names, for programs that are to compile as they are: see docs/libtorch.md. A program that is
// written for Tandem includes <tandem/tandem.h> instead.
#pragma once
#include <algorithm>
#include <concepts>
#include <optional>
#include <ranges>
#include <sstream>
#include <string>

#include "tandem/tandem.h"

namespace tandem {

// What c10 has for C++ of before 2020.
using std::optional;
/// 0, 1, ... end - 1
template <std::integral I> auto irange(I end) { return std::views::iota(I{0}, std::max(I{0}, end)); }
/// begin, ... end - 1, of end's type
template <std::integral From, std::integral I> auto irange(From begin, I end) {
  return std::views::iota(static_cast<I>(begin), std::max(static_cast<I>(begin), end));
}
/// The arguments as operator<< prints them, one behind the other.
template <class... Args> std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

namespace detail {
inline const bool chosen_print_style = prints_as_libtorch = true;
}  // namespace detail

}  // namespace tandem

namespace torch = tandem;
namespace at = tandem;
namespace c10 = tandem;
namespace c10d = tandem::distributed;

namespace caffe2 {
/// A dtype, where LibTorch has a type of its own: TypeMeta::Make<double>() is kFloat64.
struct TypeMeta {
  template <class T> static tandem::DType Make() { return tandem::dtype_of<T>(); }
};
}  // namespace caffe2
