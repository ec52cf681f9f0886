// Implements parse_json_line by nlohmann/json. Members that are not wanted are parsed, but not stored.
#include "tandem/text/json_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tandem/core/error.h"

namespace tandem::text {

std::vector<std::optional<std::string>> detail::parse_json_line(std::string_view line,
                                                                const std::vector<std::string>& keys) {
  using Json = nlohmann::json;
  std::vector<bool> seen(keys.size(), false);
  const Json::parser_callback_t keep_wanted = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    const auto found = std::find(keys.begin(), keys.end(), value.get_ref<const std::string&>());
    if (found == keys.end()) return false;
    const auto i = static_cast<size_t>(found - keys.begin());
    TANDEM_CHECK(!seen[i], "the object has '", *found, "' twice; accepted: each name once");
    seen[i] = true;
    return true;
  };
  std::vector<std::optional<std::string>> values(keys.size());
  try {
    const Json object = Json::parse(line, keep_wanted);
    TANDEM_CHECK(object.is_object(), "the line is not a JSON object; accepted: {\"", keys.at(0), "\": ..., ...}");
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = object.find(keys[i]);
      if (found == object.end() || found->is_null()) continue;
      TANDEM_CHECK(found->is_string() || found->is_number_integer(), "'", keys[i], "' is a JSON ", found->type_name(),
                   "; accepted: a string or an integer");
      values[i] = found->is_string() ? found->get<std::string>() : found->dump();
    }
  } catch (const Json::exception& e) {
    TANDEM_FAIL("the line is not valid JSON: ", e.what());
  }
  return values;
}

}  // namespace tandem::text
