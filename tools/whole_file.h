// Results that a command writes: the whole file, or none of it.
#pragma once
#include <string>

namespace tandem::tools {

/// Writes `bytes` beside `path`, under its name and ".part", and renames that. What was there stays if this fails.
/// @param command  whose file it is, for the message
/// @throws Error with the system's reason
void write_whole_file(const std::string& command, const std::string& path, const std::string& bytes);

/// For before the work that a file is to hold: @throws UsageError unless one can be written at `path`; nothing for "".
void check_can_write(const std::string& option, const std::string& path);

}  // namespace tandem::tools
