// What the demo shows: progress, a few images, the table, the JSON.
#pragma once
#include <chrono>

#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// A bar that is redrawn on a terminal, a line every tenth of the way otherwise.
class Progress {
 public:
  Progress(int epoch, int64_t samples) : epoch_(epoch), samples_(samples) {}
  void show(int64_t done, double loss);

 private:
  int epoch_, tenths_ = 0;
  int64_t samples_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A few test images side by side, two pixel rows to a line of text, with prediction and truth.
void draw(const Way& way, const FashionMNIST& test);
void print_table(const std::vector<DemoRun>& runs);
/// All of the file, or none of it. @throws Error with the system's reason
void write_json(const std::string& path, const DemoSettings& settings, const std::vector<DemoRun>& runs);
/// One run, from a rank to the process that started it.
void write_run(const std::string& path, const DemoRun& run);
DemoRun read_run(const std::string& path);

}  // namespace tandem::tools
