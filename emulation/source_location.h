// A place in the source, for messages.
#pragma once
#include <string>

namespace tandem::emulation {

struct SourceLocation {
  const char* file;
  int line;

  /// As a default argument: where the function that has it is called.
  static constexpr SourceLocation here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const SourceLocation& a, const SourceLocation& b) {
    return a.line == b.line && (a.file == b.file || std::string(a.file) == b.file);
  }
  /// The file's name without its folder, a colon, and the line.
  std::string text() const {
    const std::string path(file);
    return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
  }
};

}  // namespace tandem::emulation
