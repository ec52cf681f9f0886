// JsonFile reads the small JSON files of a model, such as config.json. Only json_file.cpp compiles the JSON parser.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::detail {

/// A JSON object, or a list of objects, from a file. Members that are never read are not checked.
class JsonFile {
 public:
  /// @throws Error if the file cannot be read, or is not a JSON object or list. The message names the file
  explicit JsonFile(const std::string& path);
  /// Returns the elements of a list. @throws Error if the value is not a list
  std::vector<JsonFile> elements() const;
  /// Returns the value of a key; nullopt if the key is missing or its value is null.
  /// @throws Error if the value has another type. The message names the file, the key and the value
  std::optional<int64_t> integer(const char* key) const;
  std::optional<double> number(const char* key) const;
  std::optional<bool> boolean(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  std::optional<JsonFile> object(const char* key) const;
  /// Returns the integers of a list; an integer alone counts as a list of one. Empty if the key is missing or null.
  std::vector<int64_t> integers(const char* key) const;
  /// Returns the members of an object of texts or of integers, sorted by name. Empty if the key is missing or null.
  std::vector<std::pair<std::string, std::string>> text_members(const char* key) const;
  std::vector<std::pair<std::string, int64_t>> integer_members(const char* key) const;
  /// Returns all keys whose value is `true`.
  std::vector<std::string> true_keys() const;
  const std::string& path() const { return path_; }

 private:
  struct Value;
  JsonFile(std::string path, std::shared_ptr<const Value> value) : path_(std::move(path)), value_(std::move(value)) {}
  std::string path_;
  std::shared_ptr<const Value> value_;
};

}  // namespace tandem::detail
