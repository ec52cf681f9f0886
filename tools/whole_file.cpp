// Results that a command writes: the whole file, or none of it.
#include "tandem/tools/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tandem/core/error.h"

namespace tandem::tools {

void write_whole_file(const std::string& command, const std::string& path, const std::string& bytes) {
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

}  // namespace tandem::tools
