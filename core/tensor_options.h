// TensorOptions: dtype, device, memory format, requires_grad and pinned memory of a new tensor.
#pragma once
#include <optional>
#include <ostream>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/core/memory_format.h"

namespace tandem {

/// Storage layout of a tensor. All tensors are strided.
enum class Layout { Strided };
constexpr Layout kStrided = Layout::Strided;
/// Prints "Strided".
inline std::ostream& operator<<(std::ostream& out, Layout) { return out << "Strided"; }

/// Options of factory functions. A dtype or a device alone converts to them: `zeros({2}, kInt64)`, `randn({2},
/// device)`.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(type) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}
  /// A copy with this dtype.
  TensorOptions dtype(DType dtype) const { return with_option(&TensorOptions::dtype_, dtype); }
  /// A copy with this device.
  TensorOptions device(Device device) const { return with_option(&TensorOptions::device_, device); }
  TensorOptions device(DeviceType type, int index) const { return device(Device(type, index)); }
  /// A copy with the layout kStrided.
  TensorOptions layout(Layout) const { return with_option(&TensorOptions::has_layout_, true); }
  /// A copy with requires_grad: factories then make leaves that require a gradient.
  TensorOptions requires_grad(bool wanted) const { return with_option(&TensorOptions::requires_grad_, wanted); }

  /// A copy with pinned_memory: host memory is then page-locked, so that GPUs can copy from and to it asynchronously.
  TensorOptions pinned_memory(bool wanted) const { return with_option(&TensorOptions::pinned_memory_, wanted); }

  /// A copy with this memory format. Without one, factories make row-major tensors; `_like` functions and to() keep the
  /// format of the given tensor.
  TensorOptions memory_format(MemoryFormat format) const { return with_option(&TensorOptions::memory_format_, format); }

  /// Each getter returns the option if set, else its default: get_default_dtype(), the CPU, or false. The getters with
  /// `_or` return `otherwise` in place of the default.
  DType dtype() const { return dtype_.value_or(get_default_dtype()); }
  DType dtype_or(DType otherwise) const { return dtype_.value_or(otherwise); }
  Device device() const { return device_.value_or(kCPU); }
  int device_index() const { return device().index(); }
  Device device_or(Device otherwise) const { return device_.value_or(otherwise); }
  Layout layout() const { return kStrided; }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  /// Whether the dtype is set.
  bool has_dtype() const { return dtype_.has_value(); }
  /// Whether the device is set.
  bool has_device() const { return device_.has_value(); }
  /// Whether the layout is set.
  bool has_layout() const { return has_layout_; }
  /// Whether requires_grad is set.
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  /// Whether pinned_memory is set.
  bool has_pinned_memory() const { return pinned_memory_.has_value(); }
  /// Whether the memory format is set.
  bool has_memory_format() const { return memory_format_.has_value(); }
  /// The dtype, or nullopt if not set.
  std::optional<DType> dtype_opt() const { return dtype_; }
  /// The device, or nullopt if not set.
  std::optional<Device> device_opt() const { return device_; }
  /// The requires_grad flag, or nullopt if not set.
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  /// The pinned_memory flag, or nullopt if not set.
  std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  /// The memory format, or nullopt if not set.
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

  /// Prints all options, as LibTorch does: "TensorOptions(dtype=float, device=cpu (default), ...)".
  friend std::ostream& operator<<(std::ostream& out, const TensorOptions& options);

 private:
  /// Returns a copy of the options with one member set.
  template <class Member, class Value> TensorOptions with_option(Member TensorOptions::*member, Value value) const {
    TensorOptions copy = *this;
    copy.*member = value;
    return copy;
  }

  std::optional<DType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> memory_format_;
  std::optional<bool> requires_grad_, pinned_memory_;
  bool has_layout_ = false;
};

/// Options with one field set; they can be chained: `zeros({2}, dtype(kInt64).device(kCUDA))`.
inline TensorOptions dtype(DType dtype) { return TensorOptions(dtype); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions layout(Layout layout) { return TensorOptions().layout(layout); }
inline TensorOptions requires_grad(bool wanted = true) { return TensorOptions().requires_grad(wanted); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }
inline TensorOptions pinned_memory(bool wanted = true) { return TensorOptions().pinned_memory(wanted); }

}  // namespace tandem
