// An argument of a step as parsed from JSON, so that the table of ops compiles without a JSON parser.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::differential {

/// null, true, 3, 0.5, "text" or [...]. The text "$3" is the result of step 3, "$3.1" its second output, "float32" a
/// dtype. "nan" and "inf" are numbers, which JSON cannot represent. {"slice": [start, stop, step]} is a slice.
struct Value {
  enum class Kind { none, boolean, integer, real, text, list, slice };
  Kind kind = Kind::none;
  int64_t integer = 0;  // also used for booleans
  double real = 0;
  std::string text;
  std::vector<Value> list;  // also used for slices

  bool is_none() const { return kind == Kind::none; }
  bool is_tensor() const { return kind == Kind::text && text.size() > 1 && text[0] == '$'; }
};
using Values = std::vector<Value>;

}  // namespace tandem::differential
