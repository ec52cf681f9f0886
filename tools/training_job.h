// Parts of the commands that train a model with train::Trainer.
#pragma once
#include <cstdio>
#include <string>

#include "tandem/train/trainer_options.h"

namespace tandem::tools {

/// Returns whether this process prints: it is the only one, or the first rank of a job on its machine.
bool is_printing_process();
/// Calls std::printf in the process that prints, and flushes.
template <class... Args> void print_once(const char* format, Args... args) {
  if (!is_printing_process()) return;
  std::printf(format, args...);
  std::fflush(stdout);
}
/// Returns the number of devices of a training: `devices`, or if it is 0, 1 for the strategy single, otherwise the
/// number of GPUs, or 2 on the CPU.
/// @param device  "auto" (GPUs if there are any), "cpu" or "gpu"
int64_t resolve_num_devices(int64_t devices, const std::string& strategy, const std::string& device);
/// Returns a logger that writes metrics to a JSON Lines file. The file is opened at the first call, which only rank 0
/// makes.
/// @param append  if true, rows are added to an existing file
train::Logger make_json_logger(const std::string& path, bool append);

}  // namespace tandem::tools
