// Where a tensor lives. "cpu", "cpu:1", ... are virtual devices: separate in everything the API can see.
#pragma once
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "tandem/core/error.h"
#include "tandem/core/version.h"

namespace tandem {

enum class DeviceType : int8_t { cpu, cuda, CPU = cpu, CUDA = cuda };  // LibTorch writes capitals
/// The kinds of devices by LibTorch's names.
constexpr DeviceType kCPU = DeviceType::cpu, kCUDA = DeviceType::cuda;

namespace detail {
constexpr int kMaxDevices = 64;  // of one type
}

/// A device by type and index. `Device("cpu")` is `cpu:0`, `Device("cuda:1")` the second GPU. Naming a device does not
/// ask for it to exist; creating a tensor there does.
class Device {
 public:
  /// An index of -1, LibTorch's way of leaving it open, is 0. @throws Error beyond kMaxDevices
  constexpr Device(DeviceType type = kCPU, int index = 0)
      : type_(type), index_(static_cast<int8_t>(index < 0 ? 0 : index)) {
    TANDEM_CHECK(index >= -1 && index < detail::kMaxDevices, "Device: index is ", index, "; accepted: -1 to ",
                 detail::kMaxDevices - 1);
  }
  /// @throws Error on anything but "cpu", "cuda", "cpu:N", "cuda:N"
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  /// Its parts; index() counts from 0. str() is "cpu", "cpu:1", "cuda:0".
  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == kCPU; }
  constexpr bool is_cuda() const { return type_ == kCUDA; }
  std::string str() const;
  /// Whether its text has an index: every device has one, and only that of the first CPU device is left out.
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
/// "cpu" or "cuda"
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << (type == kCPU ? "cpu" : "cuda"); }

/// How many virtual CPU devices exist: TANDEM_CPU_DEVICES, 1 by default, or what set_cpu_device_count said last.
int cpu_device_count();
/// @throws Error unless 1 <= count <= kMaxDevices
void set_cpu_device_count(int count);
/// How many of a type: virtual CPU devices, or GPUs (none in a build without CUDA).
int device_count(DeviceType type);
namespace detail {
/// @throws Error that names the device and those that exist; for CUDA in a build without it, says so
void check_device_exists(Device device);
}  // namespace detail

namespace cuda {
/// Whether a GPU can be used: never in a build without CUDA, nor on a machine without a driver.
bool is_available();
/// How many GPUs can be used.
int device_count();
}  // namespace cuda

}  // namespace tandem

template <> struct std::hash<tandem::Device> {
  size_t operator()(tandem::Device d) const {
    return static_cast<size_t>(d.type()) << 8 | static_cast<size_t>(d.index());
  }
};
