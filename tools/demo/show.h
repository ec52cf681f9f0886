// Declares the demo's output: the progress bar, a few images, the table, and JSON files.
#pragma once
#include <chrono>

#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Shows the progress of an epoch. On a terminal, redraws a bar; otherwise prints a line for every tenth of the
/// samples.
class Progress {
 public:
  Progress(int epoch, int64_t samples) : epoch_(epoch), samples_(samples) {}
  void show(int64_t done, double loss);

 private:
  int epoch_, last_printed_tenth_ = 0;
  int64_t samples_;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
};

/// Prints a few test images side by side, each with its predicted and true class. One line of text shows two rows of
/// pixels.
void print_images(const Net& net, const FashionMNIST& test);
void print_table(const std::vector<DemoRun>& runs);
/// Writes the settings and results, without the runs' histories, as JSON, atomically. @throws Error with the operating
/// system's error message
void write_json(const std::string& path, const DemoSettings& settings, const std::vector<DemoRun>& runs);
/// Pass the results of a rank's process, through a JSON file, to the process that started the rank.
void write_run(const std::string& path, const DemoRun& run);
DemoRun read_run(const std::string& path);

}  // namespace tandem::tools
