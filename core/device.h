// Device: the type and index of a device. "cpu", "cpu:1", ... are virtual devices, which the API treats as separate.
#pragma once
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "tandem/core/error.h"
#include "tandem/core/version.h"

namespace tandem {

// CPU and CUDA: LibTorch's names for the same values
enum class DeviceType : int8_t { cpu, cuda, CPU = cpu, CUDA = cuda };
/// The device types under LibTorch's names.
constexpr DeviceType kCPU = DeviceType::cpu, kCUDA = DeviceType::cuda;

namespace detail {
constexpr int kMaxDevices = 64;  // maximum number of devices of each type
}

/// A device by type and index. `Device("cpu")` is `cpu:0`, `Device("cuda:1")` the second GPU. The device need not exist
/// until a tensor is created on it.
class Device {
 public:
  /// An index of -1, which means the current device in LibTorch, becomes 0. @throws Error unless -1 <= index <
  /// kMaxDevices
  constexpr Device(DeviceType type = kCPU, int index = 0)
      : type_(type), index_(static_cast<int8_t>(index < 0 ? 0 : index)) {
    TANDEM_CHECK(index >= -1 && index < detail::kMaxDevices, "Device: index is ", index, "; accepted: -1 to ",
                 detail::kMaxDevices - 1);
  }
  /// Parses a device. @throws Error unless text is "cpu", "cuda", "cpu:N" or "cuda:N"
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  /// Type of the device, its index (from 0), and its text form: "cpu", "cpu:1", "cuda:0".
  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == kCPU; }
  constexpr bool is_cuda() const { return type_ == kCUDA; }
  std::string str() const;
  /// Whether str() contains the index: true for all devices but the first CPU device, which prints as "cpu".
  constexpr bool has_index() const { return type_ != kCPU || index_ != 0; }
  friend constexpr bool operator==(Device a, Device b) { return a.type_ == b.type_ && a.index_ == b.index_; }
  friend constexpr auto operator<=>(Device a, Device b) {
    return std::pair(a.type_, a.index_) <=> std::pair(b.type_, b.index_);
  }

 private:
  DeviceType type_;
  int8_t index_;
};
std::ostream& operator<<(std::ostream& out, Device device);
/// Prints "cpu" or "cuda".
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << (type == kCPU ? "cpu" : "cuda"); }

/// Number of virtual CPU devices: set by set_cpu_device_count(), else by the environment variable TANDEM_CPU_DEVICES,
/// else 1.
int cpu_device_count();
/// Sets the number of virtual CPU devices. @throws Error unless 1 <= count <= kMaxDevices
void set_cpu_device_count(int count);
/// Number of devices of a type: virtual CPU devices, or GPUs (0 in a build without CUDA).
int device_count(DeviceType type);
namespace detail {
/// Checks that a device exists. @throws Error that names `device` and the devices that exist; in a build without CUDA
/// the message says so
void check_device_exists(Device device);
}  // namespace detail

namespace cuda {
/// Whether a GPU can be used: false in a build without CUDA, or without a driver.
bool is_available();
/// Number of GPUs that can be used.
int device_count();
}  // namespace cuda

}  // namespace tandem

template <> struct std::hash<tandem::Device> {
  size_t operator()(tandem::Device d) const {
    return static_cast<size_t>(d.type()) << 8 | static_cast<size_t>(d.index());
  }
};
