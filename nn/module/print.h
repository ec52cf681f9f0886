// Formats options as Python's PyTorch prints them, so that outputs of Tandem and PyTorch can be compared.
#pragma once
#include <charconv>
#include <concepts>

#include "tandem/core/internal.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem::nn {

template <std::same_as<bool> Bool> const char* to_python_string(Bool value) { return value ? "True" : "False"; }
/// Formats a double as Python does, with the fewest digits that read back as this value: 1.0, 0.0001, 1e-05, 1e+16.
inline std::string to_python_string(double value) {
  char digits[64];
  const auto shortest = [&](std::chars_format format) {
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, value, format).ptr);
  };
  const std::string scientific = shortest(std::chars_format::scientific);
  const size_t e = scientific.find('e');
  if (e == std::string::npos) return scientific;  // inf, nan
  const int exponent = std::stoi(scientific.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  const std::string fixed = shortest(std::chars_format::fixed);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}
inline std::string format_tuple(int64_t n) { return std::to_string(n).insert(0, 1, '(') + ",)"; }
template <size_t D> std::string format_tuple(const ExpandingArray<D>& sizes) {
  std::string out = "(";
  for (size_t d = 0; d < D; ++d) out += (d > 0 ? ", " : "") + std::to_string(sizes[d]);
  return out + (D == 1 ? ",)" : ")");
}
template <std::same_as<int64_t> Int> std::string to_python_string(Int value) { return std::to_string(value); }
/// Formats sizes as a tuple, or as one number if all are equal, because users then usually pass one number.
template <size_t D> std::string to_python_string(const ExpandingArray<D>& sizes) {
  for (const int64_t size : sizes)
    if (size != sizes[0]) return format_tuple(sizes);
  return std::to_string(sizes[0]);
}

}  // namespace tandem::nn

/// Defines the members of a module declared in nn/module/simple_module.h. `text`: its options as printed. `check`: a
/// statement that throws for invalid options; the constructor runs it.
#define TANDEM_DEFINE_PRETTY_PRINT(Name, text) TANDEM_DEFINE_CHECKED_PRETTY_PRINT(Name, , text)
#define TANDEM_DEFINE_CHECKED_PRETTY_PRINT(Name, check, text) \
  template class Cloneable<Name##Impl>;                       \
  void Name##Impl::reset() { check; }                         \
  void Name##Impl::pretty_print(std::ostream& out) const { out << #Name "(" << text << ")"; /* NOLINT: a list of << */ }
