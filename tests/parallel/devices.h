// Devices for tests, and the number of bytes that DataParallel transfers between them.
#pragma once
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/tensor.h"

namespace tandem::test {

/// Returns the CPU, and CUDA if a GPU is available.
inline std::vector<DeviceType> device_types() {
  if (cuda::is_available()) return {kCPU, kCUDA};
  return {kCPU};
}
/// GPU of rank i. If a job has more ranks than there are GPUs, ranks share them.
inline Device nth_gpu(int i) { return Device(kCUDA, i % cuda::device_count()); }

/// True for emulated GPUs under a sanitizer, which are some hundred times slower. Tests then run their smallest size.
constexpr bool kSlowGpus = TANDEM_TEST_EMULATED && TANDEM_TEST_SANITIZED;

/// `count` devices for the lifetime of this object: virtual devices of the CPU, or GPUs, which repeat from the first if
/// there are fewer than `count`.
struct Devices {
  explicit Devices(int count, DeviceType type = kCPU) : before(cpu_device_count()) {
    if (type == kCPU) set_cpu_device_count(count);
    for (int i = 0; i < count; ++i) list.push_back(type == kCUDA ? test::nth_gpu(i) : Device(kCPU, i));
  }
  ~Devices() { set_cpu_device_count(before); }
  Devices(const Devices&) = delete;
  /// Returns the first `count` devices of the list.
  std::vector<Device> first(int count) const { return {list.begin(), list.begin() + count}; }
  int before;
  std::vector<Device> list;
};

/// The first three virtual devices of the CPU
inline const Device kFirst("cpu:0"), kSecond("cpu:1"), kThird("cpu:2");

/// Returns the bytes of the tensors with each rounded up to 64 elements, as DataParallel packs them for a transfer.
inline int64_t count_packed_bytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += (t.numel() + 63) / 64 * 64 * t.itemsize();
  return bytes;
}

}  // namespace tandem::test
