// Source location, for messages.
#pragma once
#include <string>

namespace tandem::emulation {

struct SourceLocation {
  const char* file;
  int line;

  /// As a default argument, returns the location of the call.
  static constexpr SourceLocation here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const SourceLocation& a, const SourceLocation& b) {
    return a.line == b.line && (a.file == b.file || std::string(a.file) == b.file);
  }
  /// Returns "file:line", with the file name but not its directory.
  std::string text() const {
    const std::string path(file);
    return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
  }
};

}  // namespace tandem::emulation
