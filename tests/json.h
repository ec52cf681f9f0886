// The fixtures that are JSON. The parser takes seconds to compile, so that json.cpp alone has it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tandem::test {

/// A file of tests/fixtures. @throws when it cannot be read, or is not JSON
nlohmann::json read_json(const std::string& name);

}  // namespace tandem::test
