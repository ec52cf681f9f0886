// Shows the progress of `tandem compare`: redraws a bar on a terminal, or else prints a line for every tenth of the
// work.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tandem::tools::compare {

class Progress {
 public:
  explicit Progress(int64_t total) : total_(total) {}
  /// Announces that the next of `total` items begins.
  void begin_item(const std::string& what);
  /// Adds items to the total, or removes items if the number is negative.
  void expect(int64_t items) { total_ += items; }
  void finish();

 private:
  int64_t total_, done_ = 0, last_tenth_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tandem::tools::compare
