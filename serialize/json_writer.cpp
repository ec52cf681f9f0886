// JsonWriter: collects members in an ordered object of nlohmann/json, and writes its text.
#include "tandem/serialize/json_writer.h"

#include <nlohmann/json.hpp>

#include "tandem/serialize/file.h"

namespace tandem::detail {

using OrderedJson = nlohmann::ordered_json;
struct JsonWriter::Value {
  OrderedJson json = OrderedJson::object();
};

JsonWriter::JsonWriter() : value_(std::make_unique<Value>()) {}
JsonWriter::~JsonWriter() = default;
void JsonWriter::integer(const char* key, int64_t value) { value_->json[key] = value; }
void JsonWriter::number(const char* key, double value) { value_->json[key] = value; }
void JsonWriter::boolean(const char* key, bool value) { value_->json[key] = value; }
void JsonWriter::text(const char* key, const std::string& value) { value_->json[key] = value; }
void JsonWriter::null(const char* key) { value_->json[key] = nullptr; }
void JsonWriter::texts(const char* key, const std::vector<std::string>& values) { value_->json[key] = values; }
void JsonWriter::integers(const char* key, const std::vector<int64_t>& values) { value_->json[key] = values; }
void JsonWriter::text_members(const char* key, const std::vector<std::pair<std::string, std::string>>& members) {
  OrderedJson& object = value_->json[key] = OrderedJson::object();
  for (const auto& [name, value] : members) object[name] = value;
}
void JsonWriter::integer_members(const char* key, const std::vector<std::pair<std::string, int64_t>>& members) {
  OrderedJson& object = value_->json[key] = OrderedJson::object();
  for (const auto& [name, value] : members) object[name] = value;
}
void JsonWriter::save(const std::string& path) const {
  std::string text;
  try {
    text = value_->json.dump(2) + "\n";
  } catch (const OrderedJson::exception& e) {
    TANDEM_FAIL(path, " cannot be written as JSON: ", e.what());
  }
  FileSink file("save", path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace tandem::detail
