// Results that a command writes: the whole file, or none of it.
#pragma once
#include <functional>
#include <string>

namespace tandem::tools {

/// Writes `bytes` beside `path`, under its name and ".part", and renames that. What was there stays if this fails.
/// @param command  whose file it is, for the message
/// @throws Error with the system's reason
void write_whole_file(const std::string& command, const std::string& path, const std::string& bytes);

/// Several results of long work: one that cannot be written, as on a full disk, keeps none of the others back.
class ResultFiles {
 public:
  /// Calls `write`, and keeps what its Error says.
  void add(const std::function<void()>& write);
  /// Keeps an error of before; "" for none.
  void add_error(const std::string& message);
  /// For the end: @throws Error with all that was kept
  void finish() const;

 private:
  std::string errors_;
};

/// For before the work that a file is to hold: @throws UsageError unless one can be written at `path`; nothing for "".
void check_can_write(const std::string& option, const std::string& path);

}  // namespace tandem::tools
