// JsonValue: a value in a JSON file, whose errors name the file and the value's place in it. Only sources that compile
// the JSON parser include this header.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::text::detail {

/// A value in a JSON file. Refers to the parsed file, which must live longer.
class JsonValue {
 public:
  using Json = nlohmann::json;
  JsonValue(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  /// Returns the member of an object. @throws Error if there is none
  JsonValue at(const std::string& key) const {
    check(json_->is_object(), "an object");
    const auto found = json_->find(key);
    TANDEM_CHECK(found != json_->end(), place_, " has no \"", key, "\"");
    return {*found, place_ + "." + key};
  }
  /// Returns the member of an object; nullopt if there is none, or if it is null.
  std::optional<JsonValue> find(const std::string& key) const {
    check(json_->is_object(), "an object");
    const auto found = json_->find(key);
    if (found == json_->end() || found->is_null()) return {};
    return JsonValue(*found, place_ + "." + key);
  }
  std::vector<JsonValue> elements() const {
    check(json_->is_array(), "a list");
    std::vector<JsonValue> out;
    for (size_t i = 0; i < json_->size(); ++i) out.push_back({(*json_)[i], place_ + "[" + std::to_string(i) + "]"});
    return out;
  }
  bool boolean() const {
    check(json_->is_boolean(), "true, false");
    return json_->get<bool>();
  }
  int64_t integer() const {
    const bool fits = json_->is_number_integer() &&
                      (!json_->is_number_unsigned() || json_->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
    check(fits, "integers of 64 bits");
    return json_->get<int64_t>();
  }
  double number() const {
    check(json_->is_number(), "numbers");
    return json_->get<double>();
  }
  const std::string& text() const {
    check(json_->is_string(), "strings");
    return json_->get_ref<const std::string&>();
  }
  bool is_text() const { return json_->is_string(); }
  bool is_object() const { return json_->is_object(); }
  /// Returns a member that may be missing or null; then `otherwise`.
  bool boolean_or(const std::string& key, bool otherwise) const {
    const auto found = find(key);
    return found ? found->boolean() : otherwise;
  }
  std::string text_or(const std::string& key, const std::string& otherwise) const {
    const auto found = find(key);
    return found ? found->text() : otherwise;
  }
  /// @throws Error that names the place and the value unless `accepted` holds
  void check(bool holds, const std::string& accepted) const {
    TANDEM_CHECK(holds, place_, " is ", shown(), "; accepted: ", accepted);
  }
  const Json& json() const { return *json_; }
  /// The file, and the keys that lead to the value.
  const std::string& place() const { return place_; }

 private:
  /// Returns the beginning of the value's text.
  std::string shown() const {
    if (json_->is_structured() && json_->size() > 8) return json_->is_object() ? "an object" : "a list";
    std::string text = json_->dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 100) text = text.substr(0, 100) + "...";
    return text;
  }
  const Json* json_;
  std::string place_;
};

}  // namespace tandem::text::detail
