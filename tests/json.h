// Reads JSON fixtures. Only json.cpp calls the parser, because its templates take seconds to compile.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tandem/core/dtype.h"

namespace tandem::test {

/// Reads a file of tests/fixtures. @throws if it cannot be read or is not JSON
nlohmann::json read_json(const std::string& name);
/// Parses JSON that a program printed. @throws if it is not JSON
nlohmann::json parse_json(const std::string& text);
/// Returns the dtype with this name. @throws Error if no dtype has this name
DType dtype_named(const std::string& text);

}  // namespace tandem::test
