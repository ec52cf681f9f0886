// An argument of a program's step, as its JSON says it, so that the table of ops compiles without a JSON parser.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::differential {

/// null, true, 3, 0.5, "text", [...]: a text "$3" is what step 3 made, "$3.1" its second output; "float32" a dtype;
/// "nan" and "inf" are numbers, which JSON has no words for. {"slice": [start, stop, step]} is a slice.
struct Value {
  enum class Kind { none, boolean, integer, real, text, list, slice };
  Kind kind = Kind::none;
  int64_t integer = 0;  // also of a boolean
  double real = 0;
  std::string text;
  std::vector<Value> list;  // also of a slice

  bool is_none() const { return kind == Kind::none; }
  bool is_tensor() const { return kind == Kind::text && text.size() > 1 && text[0] == '$'; }
};
using Values = std::vector<Value>;

}  // namespace tandem::differential
