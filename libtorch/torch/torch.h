// Tandem under LibTorch's names, for LibTorch programs that are compiled without changes: see docs/libtorch.md.
// Programs that are written for Tandem include <tandem/tandem.h> instead.
#pragma once
// LibTorch's header brings these, and programs rely on it.
#include <algorithm>
#include <array>
#include <bitset>
#include <cassert>
#include <chrono>
#include <cmath>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <ostream>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/core/print/print_libtorch.h"
#include "tandem/tandem.h"

#include "ATen/Context.h"
#include "ATen/Dispatch.h"
#include "c10/core/Backend.h"
#include "c10/cuda/CUDAStream.h"
#include "c10/macros/Macros.h"
#include "c10/util/Exception.h"
#include "c10/util/List.h"
#include "c10/util/tempfile.h"
#include "torch/other_names.h"
#include "torch/version.h"

namespace tandem {

// Names of LibTorch's namespace c10 that stand for features of newer C++ standards.
using std::optional;
/// Returns the range of the integers 0, 1, ..., end - 1; empty if `end` is negative.
template <std::integral I> auto irange(I end) { return std::views::iota(I{0}, std::max(I{0}, end)); }
/// Returns the range of the integers begin, ..., end - 1, in the type of `end`.
template <std::integral From, std::integral I> auto irange(From begin, I end) {
  return std::views::iota(static_cast<I>(begin), std::max(static_cast<I>(begin), end));
}
/// Returns the text that operator<< prints for each argument, concatenated.
template <class... Args> std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

namespace detail {
inline const bool is_libtorch_print_style_set = prints_as_libtorch = true;
}  // namespace detail

}  // namespace tandem

// Operators that print containers of the standard library, as LibTorch does. They are templates with any number of
// types, as in LibTorch, so that overload resolution prefers an operator that the program defines.
namespace std {
template <class... Types> ostream& operator<<(ostream& out, const vector<Types...>& values);
template <class... Types> ostream& operator<<(ostream& out, const map<Types...>& values);
template <class... Types> ostream& operator<<(ostream& out, const set<Types...>& values);
template <class First, class Second> ostream& operator<<(ostream& out, const pair<First, Second>& both);
}  // namespace std

namespace tandem {
namespace detail {
/// Prints the first hundred values, separated by spaces.
template <class Container> std::ostream& print_container(std::ostream& out, const Container& values) {
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
  return tandem::detail::print_container(out, values);
}
template <class... Types> ostream& operator<<(ostream& out, const map<Types...>& values) {
  return tandem::detail::print_container(out, values);
}
template <class... Types> ostream& operator<<(ostream& out, const set<Types...>& values) {
  return tandem::detail::print_container(out, values);
}
template <class First, class Second> ostream& operator<<(ostream& out, const pair<First, Second>& both) {
  return out << '(' << both.first << ", " << both.second << ')';
}
}  // namespace std

namespace tandem {
/// Prints a tensor as `out << x` does, but with lines of `linesize` characters. The overload without a stream prints to
/// std::cout.
inline std::ostream& print(std::ostream& out, const Tensor& x, int64_t linesize) {
  return out << detail::format_as_libtorch(x, linesize);
}
inline void print(const Tensor& x, int64_t linesize = 80) { print(std::cout, x, linesize); }
/// The dtype of a C++ type, as a constant: CppTypeToScalarType<double>::value is kFloat64.
template <class T> struct CppTypeToScalarType : std::integral_constant<DType, detail::dtype_of<T>()> {};
}  // namespace tandem

namespace caffe2 {
/// Stands for LibTorch's class TypeMeta. Make() returns a dtype: TypeMeta::Make<double>() is kFloat64.
struct TypeMeta {
  template <class T> static tandem::DType Make() { return tandem::detail::dtype_of<T>(); }
};
}  // namespace caffe2

#ifndef TANDEM_WITHOUT_TORCH_NAMESPACES  // set while ci/libtorch_namespaces.py lists the names
#include "torch/namespaces.h"
#endif
