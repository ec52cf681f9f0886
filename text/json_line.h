// parse_json_line: reads members of a JSON object from a line of a JSON Lines file. Internal.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::text::detail {

/// Returns the values of an object's members `keys`; nullopt for a member that is missing or null. An integer is
/// returned in decimal digits.
/// @throws Error if the line is not an object in JSON and UTF-8, a member of `keys` occurs twice, or its value is
///     neither a string nor an integer
std::vector<std::optional<std::string>> parse_json_line(std::string_view line, const std::vector<std::string>& keys);

}  // namespace tandem::text::detail
