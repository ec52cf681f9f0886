// Implements write_file_atomically, which writes to a temporary file and renames it, and ResultFiles, which collects
// the errors of several files.
#include "tandem/tools/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/core/error.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {

void write_file_atomically(const std::string& command, const std::string& path, const std::string& bytes) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::trunc | std::ios::binary);
  out << bytes;
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    TANDEM_FAIL(command, ": cannot write ", path, ": ", reason);
  }
}

void ResultFiles::try_write(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    add_error(error.what());
  }
}
void ResultFiles::add_error(const std::string& message) {
  if (!message.empty()) errors_ += (errors_.empty() ? "" : "; ") + message;
}
void ResultFiles::throw_errors() const {
  if (!errors_.empty()) throw Error(errors_);
}

void check_can_write(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  check_usage(!std::filesystem::is_directory(path), option, " ", path, " cannot be written: it is a folder");
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  int error = ::access(folder.c_str(), W_OK) == 0 ? 0 : errno;
  if (error == 0 && !std::filesystem::is_directory(folder)) error = ENOTDIR;
  check_usage(error == 0, option, " ", path, " cannot be written: ", folder, ": ", std::strerror(error));
}

}  // namespace tandem::tools
