// The options of `tandem demo`.
#pragma once
#include <vector>

#include "tandem/core/device.h"

namespace tandem::tools {

struct DemoSettings {
  std::string model = "fashion_cnn", data, save, load, json, report;
  std::vector<std::string> modes = {"all"};  // single, dp, ddp_gloo, ddp_local, ddp_nccl; ddp: all of ddp_*; all
  std::string backend;                       // gloo, local or nccl: restricts "ddp" and "all" to it; empty: all
  std::string device;                        // cpu or cuda; empty: cuda if there are GPUs that are not emulated
  std::string rank_result;                   // if not empty, this process is a rank and writes its DemoRun here
  int epochs = 1, threads = 0;
  int compare_steps = 50;      // steps after which a parallel mode is compared with its reference
  int devices = 0, ranks = 0;  // 0: all GPUs; 2 on the CPU (ranks: at least 2)
  int64_t batch_size = 128;
  uint64_t seed = 1;
  /// Returns the device number `index` among those in use. The index wraps around, because ranks may outnumber GPUs.
  Device device_of(int index) const {
    const Device type(device.empty() ? "cpu" : device);
    return Device(type.type(), type.is_cpu() ? index : index % cuda::device_count());
  }
  bool history = false;  // record the data that only --report shows
  std::vector<std::string> command_line;
  bool capture = false;  // record a step of mode single in a Graph and replay it
  bool pictures = true;  // print a few test images with the first mode's predictions
};

}  // namespace tandem::tools
