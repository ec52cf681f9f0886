// Writes a file whole or not at all.
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tandem/core/error.h"

namespace tandem::tools {

/// Writes beside `path` and renames, so that nobody ever sees half of the file, and an older one stays if this fails.
/// @param command  opens the message: "demo: cannot write ..."
/// @throws Error with the system's reason
inline void write_whole_file(const std::string& command, const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::trunc);
  out << text;
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    TANDEM_FAIL(command, ": cannot write ", path, ": ", reason);
  }
}

}  // namespace tandem::tools
