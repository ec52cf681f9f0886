// The fixtures that are JSON. The parser takes seconds to compile, so that json.cpp alone has it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tandem/core/dtype.h"

namespace tandem::test {

/// A file of tests/fixtures. @throws when it cannot be read, or is not JSON
nlohmann::json read_json(const std::string& name);
/// JSON that a program printed. @throws when it is none
nlohmann::json parse_json(const std::string& text);
/// @throws Error when there is none of that name
DType dtype_named(const std::string& text);

}  // namespace tandem::test
