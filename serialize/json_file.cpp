// JsonFile: parses the file with nlohmann/json, and checks the type of each value that is read.
#include "tandem/serialize/json_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/core/error.h"

namespace tandem::detail {

using Json = nlohmann::json;
struct JsonFile::Value {
  Json json;
};

namespace {
/// Returns the value of a key; nullopt if it is missing or null. @throws Error unless `accepts` returns true for the
/// value
template <class T>
std::optional<T> optional_member(const Json& json, const char* key, bool (Json::*accepts)() const noexcept,
                                 const char* accepted, const std::string& path) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  TANDEM_CHECK(((*found).*accepts)(), path, ": ", key, " is ",
               found->dump(-1, ' ', false, Json::error_handler_t::replace), "; accepted: ", accepted);
  return found->get<T>();
}
template <class T>
std::vector<std::pair<std::string, T>> members_of(const Json& json, const char* key,
                                                  bool (Json::*accepts)() const noexcept, const char* accepted,
                                                  const std::string& path) {
  std::vector<std::pair<std::string, T>> out;
  if (!json.is_object() || !json.contains(key) || json.at(key).is_null()) return out;
  const Json& object = json.at(key);
  TANDEM_CHECK(object.is_object(), path, ": ", key, " is ", object.dump(-1, ' ', false, Json::error_handler_t::replace),
               "; accepted: an object of ", accepted);
  for (const auto& [name, value] : object.items()) {
    TANDEM_CHECK((value.*accepts)(), path, ": ", name, " of ", key, " is ",
                 value.dump(-1, ' ', false, Json::error_handler_t::replace), "; accepted: ", accepted);
    out.emplace_back(name, value.template get<T>());
  }
  return out;
}
}  // namespace

JsonFile::JsonFile(const std::string& path) : path_(path) {
  std::ifstream file(path, std::ios::binary);
  TANDEM_CHECK(file, path, " cannot be read: ", std::strerror(errno));
  try {
    auto value = std::make_shared<Value>();
    value->json = Json::parse(file);
    TANDEM_CHECK(value->json.is_object() || value->json.is_array(), path,
                 " is not a JSON object or list, the accepted values");
    value_ = std::move(value);
  } catch (const Json::exception& e) {
    TANDEM_FAIL(path, " is not valid JSON: ", e.what());
  }
}
std::vector<JsonFile> JsonFile::elements() const {
  TANDEM_CHECK(value_->json.is_array(), path_, " is not a JSON list; accepted: a list");
  std::vector<JsonFile> out;
  for (const Json& element : value_->json) out.push_back({path_, std::make_shared<Value>(Value{element})});
  return out;
}
std::optional<int64_t> JsonFile::integer(const char* key) const {
  return optional_member<int64_t>(value_->json, key, &Json::is_number_integer, "integers", path_);
}
std::optional<double> JsonFile::number(const char* key) const {
  return optional_member<double>(value_->json, key, &Json::is_number, "numbers", path_);
}
std::optional<bool> JsonFile::boolean(const char* key) const {
  return optional_member<bool>(value_->json, key, &Json::is_boolean, "true, false", path_);
}
std::optional<std::string> JsonFile::text(const char* key) const {
  return optional_member<std::string>(value_->json, key, &Json::is_string, "strings", path_);
}
std::optional<JsonFile> JsonFile::object(const char* key) const {
  const auto found = optional_member<Json>(value_->json, key, &Json::is_object, "objects", path_);
  if (!found) return {};
  return JsonFile(path_, std::make_shared<Value>(Value{*found}));
}
std::vector<int64_t> JsonFile::integers(const char* key) const {
  if (!value_->json.is_object()) return {};
  const auto found = value_->json.find(key);
  if (found == value_->json.end() || !found->is_array()) {
    const std::optional<int64_t> single = integer(key);
    return single ? std::vector<int64_t>{*single} : std::vector<int64_t>();
  }
  std::vector<int64_t> out;
  for (const Json& element : *found) {
    TANDEM_CHECK(element.is_number_integer(), path_, ": ", key, " has the element ",
                 element.dump(-1, ' ', false, Json::error_handler_t::replace), "; accepted: integers");
    out.push_back(element.get<int64_t>());
  }
  return out;
}
std::vector<std::pair<std::string, std::string>> JsonFile::text_members(const char* key) const {
  return members_of<std::string>(value_->json, key, &Json::is_string, "strings", path_);
}
std::vector<std::pair<std::string, int64_t>> JsonFile::integer_members(const char* key) const {
  return members_of<int64_t>(value_->json, key, &Json::is_number_integer, "integers", path_);
}
std::vector<std::string> JsonFile::true_keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : value_->json.items())
    if (value == true) out.push_back(key);
  return out;
}

}  // namespace tandem::detail
