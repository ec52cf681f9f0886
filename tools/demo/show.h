// The demo's output: progress, a few images, the table, the JSON.
#pragma once
#include <chrono>

#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Shows an epoch's progress: redraws a bar on a terminal, or else prints a line for every tenth of the samples.
class Progress {
 public:
  Progress(int epoch, int64_t samples) : epoch_(epoch), samples_(samples) {}
  void show(int64_t done, double loss);

 private:
  int epoch_, tenths_ = 0;
  int64_t samples_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Prints a few test images side by side, two pixel rows to a line of text, with prediction and truth.
void draw(const Way& way, const FashionMNIST& test);
void print_table(const std::vector<DemoRun>& runs);
/// Writes the settings and results as JSON, atomically. @throws Error with the system's reason
void write_json(const std::string& path, const DemoSettings& settings, const std::vector<DemoRun>& runs);
/// Passes a run from a rank's process to the process that started it, through a JSON file.
void write_run(const std::string& path, const DemoRun& run);
DemoRun read_run(const std::string& path);

}  // namespace tandem::tools
