// Devices for a test, and the size of what moves between them.
#pragma once
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/tensor.h"

namespace tandem::test {

/// The CPU, and GPUs where there are any.
inline std::vector<DeviceType> device_types() {
  if (cuda::is_available()) return {kCPU, kCUDA};
  return {kCPU};
}
/// GPU number i of a job: jobs larger than what is there share.
inline Device nth_gpu(int i) { return Device(kCUDA, i % cuda::device_count()); }

/// Emulated GPUs under a sanitizer take some hundred times as long: there, tests take the least that has all parts.
constexpr bool kSlowGpus = TANDEM_TEST_EMULATED && TANDEM_TEST_SANITIZED;

/// As many devices as it says, for as long as it lives: virtual ones of the CPU, or the first GPUs, again from the
/// first where there are fewer.
struct Devices {
  explicit Devices(int count, DeviceType type = kCPU) : before(cpu_device_count()) {
    if (type == kCPU) set_cpu_device_count(count);
    for (int i = 0; i < count; ++i) list.push_back(type == kCUDA ? test::nth_gpu(i) : Device(kCPU, i));
  }
  ~Devices() { set_cpu_device_count(before); }
  Devices(const Devices&) = delete;
  /// The first `count` of them.
  std::vector<Device> first(int count) const { return {list.begin(), list.begin() + count}; }
  int before;
  std::vector<Device> list;
};

/// The CPU's first devices, virtual ones.
inline const Device kFirst("cpu:0"), kSecond("cpu:1"), kThird("cpu:2");

/// Each tensor rounded up to 64 elements, as DataParallel packs them for a transfer.
inline int64_t count_packed_bytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += (t.numel() + 63) / 64 * 64 * t.itemsize();
  return bytes;
}

}  // namespace tandem::test
