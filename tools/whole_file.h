// Writes a command's result files atomically: either the whole file appears or nothing changes.
#pragma once
#include <functional>
#include <string>

namespace tandem::tools {

/// Writes `bytes` to `path` + ".part" and renames that file to `path`. If this fails, an existing file at `path` stays.
/// @param command  name of the subcommand, for the error message
/// @throws Error with the system's reason
void write_whole_file(const std::string& command, const std::string& path, const std::string& bytes);

/// Writes several results of long work: if one cannot be written (full disk), the others still are.
class ResultFiles {
 public:
  /// Calls `write`. If it throws an Error, keeps the message for finish().
  void add(const std::function<void()>& write);
  /// Keeps the message of an earlier error for finish(); "" is ignored.
  void add_error(const std::string& message);
  /// Call this last. @throws Error with all kept messages, if there are any
  void finish() const;

 private:
  std::string errors_;
};

/// Call this before the work whose result goes to `path`. An empty path is accepted.
/// @throws UsageError if no file can be written at `path`
void check_can_write(const std::string& option, const std::string& path);

}  // namespace tandem::tools
