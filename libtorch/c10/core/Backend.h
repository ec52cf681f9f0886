// LibTorch's Backend, and the type of a tensor as older programs know it: x.type(), x.toBackend(Backend::CUDA).
#pragma once
#include <ostream>
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// The kind of device that computes on a tensor.
enum class Backend { CPU, CUDA, Undefined };
inline Backend deviceTypeToBackend(DeviceType device) { return device == kCUDA ? Backend::CUDA : Backend::CPU; }
inline DeviceType backendToDeviceType(Backend backend) { return backend == Backend::CUDA ? kCUDA : kCPU; }
namespace qualified {
inline const char* toString(Backend backend) {
  return backend == Backend::CPU ? "CPU" : backend == Backend::CUDA ? "CUDA" : "UNDEFINED_BACKEND";
}
}  // namespace qualified
inline std::ostream& operator<<(std::ostream& out, Backend backend) { return out << toString(backend); }

/// The dtype and the backend of a tensor. It converts to TensorOptions.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(Backend backend, DType dtype) : backend_(backend), dtype_(dtype) {}
  Backend backend() const { return backend_; }
  DType scalarType() const { return dtype_; }
  DType typeMeta() const { return dtype_; }
  DeviceType device_type() const { return backendToDeviceType(backend_); }
  bool is_cuda() const { return backend_ == Backend::CUDA; }
  bool is_sparse() const { return false; }
  /// LibTorch's name for the type: "CPUFloatType", "CUDALongType", ...
  std::string toString() const { return std::string(tandem::toString(backend_)) + tandem::toString(dtype_) + "Type"; }
  DeprecatedTypeProperties toScalarType(DType dtype) const { return {backend_, dtype}; }
  DeprecatedTypeProperties toBackend(Backend backend) const { return {backend, dtype_}; }
  DeprecatedTypeProperties cpu() const { return toBackend(Backend::CPU); }
  DeprecatedTypeProperties cuda() const { return toBackend(Backend::CUDA); }
  TensorOptions options(int16_t device_index = -1) const {
    return TensorOptions(dtype_).device(device_index < 0 ? Device(device_type()) : Device(device_type(), device_index));
  }
  operator TensorOptions() const { return options(); }
  /// Returns a copy of a tensor with this dtype, on this kind of device.
  Tensor copy(const Tensor& x) const { return x.to(options()); }
  friend bool operator==(const DeprecatedTypeProperties&, const DeprecatedTypeProperties&) = default;
  friend std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type) {
    return out << type.toString();
  }

 private:
  Backend backend_;
  DType dtype_;
};
inline DeprecatedTypeProperties Tensor::type() const { return {deviceTypeToBackend(device().type()), dtype()}; }
inline Tensor Tensor::toBackend(Backend backend) const { return to(backendToDeviceType(backend)); }
inline DeprecatedTypeProperties getDeprecatedTypeProperties(Backend backend, DType dtype) { return {backend, dtype}; }

}  // namespace tandem
