// Devices: parsing and printing, and checks that a device exists.
#include "tandem/core/device.h"

#include <atomic>
#include <charconv>
#include <cstdlib>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem {
namespace {

int parse_device_index(const std::string& text, const std::string& digits) {
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  TANDEM_CHECK(error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < kMaxDevices,
               "Device: Invalid device string: '", text, "'; accepted: cpu, cuda, cpu:N or cuda:N with N from 0 to ",
               kMaxDevices - 1);
  return index;
}

std::atomic<int>& num_cpu_devices() {
  static std::atomic<int> count = [] {
    const char* text = std::getenv("TANDEM_CPU_DEVICES");
    if (!text || !*text) return 1;
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    TANDEM_CHECK(*end == 0 && n >= 1 && n <= kMaxDevices, "TANDEM_CPU_DEVICES is '", text, "'; accepted: 1 to ",
                 kMaxDevices);
    return static_cast<int>(n);
  }();
  return count;
}

}  // namespace

Device::Device(const std::string& text) {
  TANDEM_CHECK(!text.empty(), "Device string must not be empty; accepted: cpu, cuda, cpu:N and cuda:N");
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  TANDEM_CHECK(type == "cpu" || type == "cuda",
               "Device: Expected one of cpu, cuda device type at start of device string: ", text);
  type_ = type == "cpu" ? kCPU : kCUDA;
  index_ = static_cast<int8_t>(colon == std::string::npos ? 0 : parse_device_index(text, text.substr(colon + 1)));
}

std::string Device::str() const {
  const std::string type = is_cpu() ? "cpu" : "cuda";
  return is_cpu() && index_ == 0 ? type : type + ":" + std::to_string(index_);
}
std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }

int cpu_device_count() { return num_cpu_devices().load(std::memory_order_relaxed); }
void set_cpu_device_count(int count) {
  TANDEM_CHECK(count >= 1 && count <= kMaxDevices, "set_cpu_device_count: got ", count, "; accepted: 1 to ",
               kMaxDevices);
  num_cpu_devices().store(count, std::memory_order_relaxed);
}
int device_count(DeviceType type) { return type == kCPU ? cpu_device_count() : cuda::device_count(); }

void detail::check_device_exists(Device device) {
  if (device.index() < device_count(device.type())) return;
  if (device.is_cuda()) {
    const int count = cuda::device_count();
    TANDEM_CHECK(count > 0, "device ", device,
                 " does not exist, because no GPU is available: ", gpu::unavailable_reason(), "; accepted: cpu");
    TANDEM_FAIL("device ", device, " does not exist; accepted: cuda:0 to cuda:", count - 1);
  }
  TANDEM_FAIL("device ", device, " does not exist; there are ", cpu_device_count(),
              " virtual CPU devices (set with set_cpu_device_count or TANDEM_CPU_DEVICES)");
}

}  // namespace tandem
