// Writes the result files of a command atomically: after an error, a file has its old content or does not exist.
#pragma once
#include <functional>
#include <string>

namespace tandem::tools {

/// Writes `bytes` to `path` + ".part", and renames that file to `path`. If this fails, an existing file at `path` is
/// left unchanged.
/// @param command  name of the subcommand, for the error message
/// @throws Error with the operating system's error message
void write_file_atomically(const std::string& command, const std::string& path, const std::string& bytes);

/// Writes several result files of a long computation. If one of them cannot be written (for example because the disk is
/// full), the others are still written.
class ResultFiles {
 public:
  /// Calls `write`, which writes one file. If it throws an Error, keeps the message for throw_errors().
  void try_write(const std::function<void()>& write);
  /// Keeps an error message for throw_errors(); "" is ignored.
  void add_error(const std::string& message);
  /// Throws if there were errors. Call this last. @throws Error with all kept messages
  void throw_errors() const;

 private:
  std::string errors_;
};

/// Call this before a long computation whose result goes to `path`. Does nothing if `path` is "".
/// @throws UsageError if no file can be written at `path`
void check_can_write(const std::string& option, const std::string& path);

}  // namespace tandem::tools
