// Tandem under LibTorch's names, for programs that are to compile as they are: see docs/libtorch.md. A program that is
// written for Tandem includes <tandem/tandem.h> instead.
#pragma once
#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>
#include <ranges>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/print/print_libtorch.h"
#include "tandem/tandem.h"

#include "ATen/Dispatch.h"
#include "c10/cuda/CUDAStream.h"
#include "c10/macros/Macros.h"

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

// LibTorch prints these of the standard library too. Of any number of types, as there, so that an operator of the
// program's own is preferred.
namespace std {
template <class... Types> ostream& operator<<(ostream& out, const vector<Types...>& values);
template <class... Types> ostream& operator<<(ostream& out, const map<Types...>& values);
template <class... Types> ostream& operator<<(ostream& out, const set<Types...>& values);
template <class First, class Second> ostream& operator<<(ostream& out, const pair<First, Second>& both);
}  // namespace std

namespace tandem {
namespace detail {
/// The first hundred, with a space between them.
template <class Container> std::ostream& print_some(std::ostream& out, const Container& values) {
  int printed = 0;
  for (const auto& value : values) {
    if (printed == 100) return out << " ...";
    if (printed++ > 0) out << ' ';
    out << value;
  }
  return out;
}
}  // namespace detail
}  // namespace tandem

namespace std {
template <class... Types> ostream& operator<<(ostream& out, const vector<Types...>& values) {
  return tandem::detail::print_some(out, values);
}
template <class... Types> ostream& operator<<(ostream& out, const map<Types...>& values) {
  return tandem::detail::print_some(out, values);
}
template <class... Types> ostream& operator<<(ostream& out, const set<Types...>& values) {
  return tandem::detail::print_some(out, values);
}
template <class First, class Second> ostream& operator<<(ostream& out, const pair<First, Second>& both) {
  return out << '(' << both.first << ", " << both.second << ')';
}
}  // namespace std

namespace torch = tandem;
namespace at = tandem;
namespace c10 = tandem;
namespace c10d = tandem::distributed;

namespace tandem {
/// Writes a tensor as `out << x` does, in lines of so many characters; without a stream to std::cout.
inline std::ostream& print(std::ostream& out, const Tensor& x, int64_t linesize) {
  return out << detail::libtorch_text(x, linesize);
}
inline void print(const Tensor& x, int64_t linesize = 80) { print(std::cout, x, linesize); }
/// The dtype of a C++ type: CppTypeToScalarType<double>::value is kFloat64.
template <class T> struct CppTypeToScalarType : std::integral_constant<DType, detail::dtype_of<T>()> {};
}  // namespace tandem

namespace caffe2 {
/// A dtype, where LibTorch has a type of its own: TypeMeta::Make<double>() is kFloat64.
struct TypeMeta {
  template <class T> static tandem::DType Make() { return tandem::detail::dtype_of<T>(); }
};
}  // namespace caffe2
