// ScratchFolder: a temporary folder that is removed when a command of `tandem` ends. Used by benchmarks/ and tools/.
#pragma once
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "tandem/core/error.h"

namespace tandem::benchmarks {

/// A new folder in the system's folder for temporary files, accessible to this user only. The destructor removes it
/// with its contents.
class ScratchFolder {
 public:
  /// @param command  the command of `tandem` that needs the folder, such as "demo"; used in the folder's name and in
  ///                 messages
  /// @throws Error if the folder cannot be made
  explicit ScratchFolder(const std::string& command) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    TANDEM_CHECK(!error, command, ": there is no folder for temporary files: ", error.message(),
                 "; set TMPDIR to a folder");
    path_ = (parent / ("tandem-" + command + "-XXXXXX")).string();
    TANDEM_CHECK(::mkdtemp(path_.data()), command, ": cannot make ", path_, ": ", std::strerror(errno),
                 "; set TMPDIR to a writable folder");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // path of the folder; mkdtemp replaces its six X by random letters
};

}  // namespace tandem::benchmarks
