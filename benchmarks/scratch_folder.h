// A folder for what lives no longer than a command of `tandem`: bench here, others in tools/.
#pragma once
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "tandem/core/error.h"

namespace tandem::benchmarks {

/// A new folder among those for temporary files, for this user alone; removed with all that is in it.
class ScratchFolder {
 public:
  /// @param command  of tandem's, for the folder's name and for messages: "demo"
  /// @throws Error where none can be made
  explicit ScratchFolder(const std::string& command) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    TANDEM_CHECK(!error, command, ": no folder for temporary files: ", error.message(), "; TMPDIR must name one");
    path_ = (parent / ("tandem-" + command + "-XXXXXX")).string();
    TANDEM_CHECK(::mkdtemp(path_.data()), command, ": cannot make ", path_, ": ", std::strerror(errno),
                 "; TMPDIR must name a folder that can be written");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // mkdtemp puts other letters in place of the six X
};

}  // namespace tandem::benchmarks
