// How far `tandem compare` has come: a bar that is redrawn on a terminal, a line every tenth of the way otherwise.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tandem::tools::compare {

class Progress {
 public:
  explicit Progress(int64_t total) : total_(total) {}
  /// The next of `total` things begins.
  void next(const std::string& what);
  void end();

 private:
  int64_t total_, done_ = 0, tenths_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tandem::tools::compare
