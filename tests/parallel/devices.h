// Virtual devices for a test.
#pragma once
#include <vector>

#include "tandem/core/device.h"

namespace tandem::test {

/// As many virtual devices as it says, for as long as it lives.
struct Devices {
  explicit Devices(int count) : before(cpu_device_count()) {
    set_cpu_device_count(count);
    for (int i = 0; i < count; ++i) list.emplace_back(kCPU, i);
  }
  ~Devices() { set_cpu_device_count(before); }
  Devices(const Devices&) = delete;
  /// The first `count` of them.
  std::vector<Device> first(int count) const { return {list.begin(), list.begin() + count}; }
  int before;
  std::vector<Device> list;
};

}  // namespace tandem::test
