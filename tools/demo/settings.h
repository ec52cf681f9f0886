// What `tandem demo` can be told.
#pragma once
#include <vector>

#include "tandem/core/device.h"

namespace tandem::tools {

struct DemoSettings {
  std::string model = "fashion_cnn", data, save, load, json, report;
  std::vector<std::string> modes = {"all"};  // single, dp, ddp_gloo, ddp_local, ddp_nccl; ddp: all of these; all
  std::string backend;                       // gloo, local or nccl: the one that "ddp" and "all" keep
  std::string device;                        // cpu or cuda; empty: GPUs where there are any that are not emulated
  std::string rank_result;                   // not empty: this process is a rank, and writes its run there
  int epochs = 1, threads = 0;
  int compare_steps = 50;      // after which a parallel mode is compared with its reference
  int devices = 0, ranks = 0;  // 0: two, or as many as there are GPUs
  int64_t batch_size = 128;
  uint64_t seed = 1;
  /// The device of that number, of those that are computed on; ranks may be more than GPUs.
  Device device_of(int index) const {
    const Device type(device.empty() ? "cpu" : device);
    return Device(type.type(), type.is_cpu() ? index : index % cuda::device_count());
  }
  bool history = false;  // what --report shows is kept
  std::vector<std::string> command_line;
  bool capture = false;  // the steps of mode single are recorded and replayed
  bool pictures = true;  // a few test images with what the first mode's network takes them for
};

}  // namespace tandem::tools
