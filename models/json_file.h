// The small JSON files beside a model, such as config.json. Only json_file.cpp compiles the parser.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::models::detail {

/// An object in a file, or within one. Members that nobody asks for are left alone.
class JsonFile {
 public:
  /// @throws Error naming the file when it cannot be read, or is not a JSON object or a list of them
  explicit JsonFile(const std::string& path);
  /// The objects of a list. @throws Error when the file is no list
  std::vector<JsonFile> elements() const;
  /// What stands under a key; nothing when it is missing or null.
  /// @throws Error naming the file, the key and what stands there when it is of another type
  std::optional<int64_t> integer(const char* key) const;
  std::optional<double> number(const char* key) const;
  std::optional<bool> boolean(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  /// All keys whose value is `true`.
  std::vector<std::string> true_keys() const;
  const std::string& path() const { return path_; }

 private:
  struct Value;
  JsonFile(std::string path, std::shared_ptr<const Value> value) : path_(std::move(path)), value_(std::move(value)) {}
  std::string path_;
  std::shared_ptr<const Value> value_;
};

}  // namespace tandem::models::detail
