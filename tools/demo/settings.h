// The options of `tandem demo`.
#pragma once
#include <vector>

#include "tandem/core/device.h"

namespace tandem::tools {

struct DemoSettings {
  std::string model = "fashion_cnn", data, save, load, json, report;
  /// Modes to train under: single, dp, ddp_gloo, ddp_local or ddp_nccl. "ddp" stands for all ddp_* modes, and "all" for
  /// all modes.
  std::vector<std::string> modes = {"all"};
  /// Backend (gloo, local or nccl) to which "ddp" and "all" are restricted. If empty, they are not restricted.
  std::string backend;
  /// Device: cpu or cuda. If empty, cuda if there are GPUs that are not emulated, else cpu.
  std::string device;
  /// Hidden option. If not empty, this process is one rank of a run, and writes its DemoRun to this path.
  std::string rank_result;
  int epochs = 1, threads = 0;
  int compare_steps = 50;  // number of steps before a parallel mode is compared with its reference
  /// Numbers of devices (DP) and ranks (DDP). 0 means the number of GPUs, but at least 2 ranks. On the CPU and on
  /// emulated GPUs, 0 means 2.
  int devices = 0, ranks = 0;
  int64_t batch_size = 128;
  uint64_t seed = 1;
  /// Returns the device number `index`. On GPUs the index wraps around, because there may be more ranks than GPUs.
  Device device_of(int index) const {
    const Device type(device.empty() ? "cpu" : device);
    return Device(type.type(), type.is_cpu() ? index : index % cuda::device_count());
  }
  bool history = false;  // whether to record the data that --report shows
  std::vector<std::string> command_line;
  bool capture = false;  // whether mode single records one step as a Graph and replays it
  bool pictures = true;  // whether to print a few test images with the first mode's predictions
};

}  // namespace tandem::tools
