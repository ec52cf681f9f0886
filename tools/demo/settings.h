// What `tandem demo` can be told.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::tools {

struct DemoSettings {
  std::string model = "fashion_cnn", data, save, load, json;
  std::vector<std::string> modes = {"all"};  // single, dp, ddp_gloo, ddp_local; ddp: both of these; all
  std::string backend;                       // gloo or local: the one that "ddp" and "all" keep
  std::string rank_result;                   // not empty: this process is a rank, and writes its run there
  int epochs = 1, threads = 0, devices = 2, ranks = 2;
  int64_t batch_size = 128;
  uint64_t seed = 1;
  bool pictures = true;  // a few test images with what the first mode's network takes them for
};

}  // namespace tandem::tools
