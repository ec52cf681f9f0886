// Options as modules print them, in the words of Python's PyTorch: what one prints compares with what the other does.
#pragma once
#include <charconv>
#include <concepts>
#include <string>

#include "tandem/core/internal.h"
#include "tandem/ops/pair.h"

namespace tandem::nn {

template <std::same_as<bool> Bool> const char* printed(Bool value) { return value ? "True" : "False"; }
/// The shortest text that reads as this value: 1.0, 0.5, 1e-05, 0.3333333333333333
inline std::string printed(double value) {
  char digits[32];
  const std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}
inline std::string tuple(const Pair& p) { return '(' + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ')'; }
inline std::string tuple(int64_t n) { return std::to_string(n).insert(0, 1, '(') + ",)"; }
/// One number when both are the same, as they were given most likely.
inline std::string printed(const Pair& p) { return p[0] == p[1] ? std::to_string(p[0]) : tuple(p); }

}  // namespace tandem::nn
