// Options as modules print them, in the words of Python's PyTorch: what one prints compares with what the other does.
#pragma once
#include <charconv>
#include <concepts>
#include <string>

#include "tandem/core/internal.h"
#include "tandem/ops/pair.h"

namespace tandem::nn {

template <std::same_as<bool> Bool> const char* printed(Bool value) { return value ? "True" : "False"; }
/// The shortest text that reads as this value, with an exponent where Python has one: 1.0, 0.0001, 1e-05, 1e+16
inline std::string printed(double value) {
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
inline std::string tuple(const Pair& p) { return '(' + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ')'; }
inline std::string tuple(int64_t n) { return std::to_string(n).insert(0, 1, '(') + ",)"; }
inline std::string tuple(const Triple& t) {
  return '(' + std::to_string(t[0]) + ", " + std::to_string(t[1]) + ", " + std::to_string(t[2]) + ')';
}
template <std::same_as<int64_t> Int> std::string printed(Int value) { return std::to_string(value); }
/// One number when all are the same, as they were given most likely.
inline std::string printed(const Pair& p) { return p[0] == p[1] ? std::to_string(p[0]) : tuple(p); }
inline std::string printed(const Triple& t) { return t[0] == t[1] && t[1] == t[2] ? std::to_string(t[0]) : tuple(t); }

}  // namespace tandem::nn

/// What a module of nn/simple_module.h defines. `text`: the options as it prints them.
#define TANDEM_MODULE_TEXT(Name, text)  \
  template class Cloneable<Name##Impl>; \
  void Name##Impl::reset() {}           \
  void Name##Impl::pretty_print(std::ostream& out) const { out << #Name "(" << text << ")"; /* NOLINT: a list of << */ }
