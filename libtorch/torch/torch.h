// Tandem under LibTorch's names, for programs that are to compile as they are: see docs/libtorch.md. A program that is
// written for Tandem includes <tandem/tandem.h> instead.
#pragma once
#include <algorithm>
#include <concepts>
#include <optional>
#include <ostream>
#include <ranges>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/tandem.h"

#include "ATen/Dispatch.h"

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

namespace tandem {
/// The dtype of a C++ type: CppTypeToScalarType<double>::value is kFloat64.
template <class T> struct CppTypeToScalarType : std::integral_constant<DType, detail::dtype_of<T>()> {};
namespace detail {
template <class Sequence> std::ostream& print_sequence(std::ostream& out, const Sequence& sequence) {
  constexpr int kMost = 100;
  int printed = 0;
  for (const auto& element : sequence) {
    if (printed == kMost) return out << " ...";
    if (printed++) out << ' ';
    out << element;
  }
  return out;
}
}  // namespace detail
}  // namespace tandem

namespace std {
// LibTorch's too, so that programs can print sizes().vec(): up to a hundred elements with a blank between them.
template <class T, class A> std::ostream& operator<<(std::ostream& out, const std::vector<T, A>& list) {
  return tandem::detail::print_sequence(out, list);
}
}  // namespace std

namespace caffe2 {
/// A dtype, where LibTorch has a type of its own: TypeMeta::Make<double>() is kFloat64.
struct TypeMeta {
  template <class T> static tandem::DType Make() { return tandem::detail::dtype_of<T>(); }
};
}  // namespace caffe2
