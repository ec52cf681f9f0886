// JsonWriter writes the small JSON files of a model, such as config.json.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::detail {

/// A JSON object. Members stay in the order of the calls that set them.
class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  /// Set a member to a number, a boolean, a text, or null.
  void integer(const char* key, int64_t value);
  void number(const char* key, double value);
  void boolean(const char* key, bool value);
  void text(const char* key, const std::string& value);
  void null(const char* key);
  /// Set a member to a list, or to an object with the given members.
  void texts(const char* key, const std::vector<std::string>& values);
  void integers(const char* key, const std::vector<int64_t>& values);
  void text_members(const char* key, const std::vector<std::pair<std::string, std::string>>& members);
  void integer_members(const char* key, const std::vector<std::pair<std::string, int64_t>>& members);
  /// Writes the object to a temporary file, and renames it to `path` when it is complete.
  /// @throws Error that names the file and the reason; also if a text is not valid UTF-8
  void save(const std::string& path) const;

 private:
  struct Value;
  std::unique_ptr<Value> value_;
};

}  // namespace tandem::detail
