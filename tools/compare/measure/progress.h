// Shows the progress of `tandem compare`: redraws a bar on a terminal, or else prints a line for every tenth of the
// work.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tandem::tools::compare {

class Progress {
 public:
  explicit Progress(int64_t total) : num_items_(total) {}
  /// Announces that the next of `total` items begins.
  void begin_item(const std::string& what);
  /// Adds items to the total, or removes items if the number is negative.
  void add_to_total(int64_t items) { num_items_ += items; }
  void finish();

 private:
  int64_t num_items_, num_items_done_ = 0, last_printed_tenth_ = -1;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
};

}  // namespace tandem::tools::compare
