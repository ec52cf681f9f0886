// Mixed precision: autocast, which casts the floating operands of operations to the dtype that suits each operation.
#pragma once
#include <optional>

#include "tandem/core/thread_context.h"

namespace tandem {

/// Functions of LibTorch's namespace at::autocast. The state of autocast belongs to the thread. Worker threads that the
/// library starts for this thread have a copy of it. AutocastGuard sets and restores it.
namespace autocast {

/// Whether operations on tensors of this device type cast their operands. False in a backward, whose operations compute
/// in the dtypes of the forward.
bool is_autocast_enabled(DeviceType device_type);
void set_autocast_enabled(DeviceType device_type, bool enabled);
/// Returns the lower precision: bfloat16 on CPUs and float16 on GPUs, unless it was set.
DType get_autocast_dtype(DeviceType device_type);
/// @throws Error unless dtype is float16 or bfloat16
void set_autocast_dtype(DeviceType device_type, DType dtype);
/// Whether the cast of a float32 leaf that requires a gradient, such as a weight, is cached and reused.
bool is_autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
/// Frees the cached casts.
void clear_cache();
/// Enters an autocast region, as AutocastGuard does; regions may be nested. @return number of regions that this thread
/// is in now
int increment_nesting();
/// Leaves a region that increment_nesting() entered, without clearing the cache. @return number of regions that this
/// thread is still in
int decrement_nesting();
/// Whether autocast exists for this device type, as it does for all.
inline bool is_autocast_available(DeviceType) { return true; }

}  // namespace autocast

/// Turns autocast on for one device type until the guard ends. Operations on tensors of that type cast their operands,
/// as in PyTorch's autocast: products, convolutions and attention to `dtype`; softmax, norms, losses, sums and
/// exponentials to float32. Other operations compute in the dtype of their operands. Weights and gradients stay
/// float32.
///   AutocastGuard guard(kCPU, kBFloat16);
///   loss = cross_entropy(net->forward(x), y);
/// The guard with `enabled` false turns autocast off again within another guard. When the outermost guard ends, it
/// frees the cached casts of weights. If no dtype is given, get_autocast_dtype() stays as it is.
class AutocastGuard {
 public:
  /// @throws Error unless dtype is float16 or bfloat16
  explicit AutocastGuard(DeviceType device_type, std::optional<DType> dtype = {}, bool enabled = true,
                         bool cache_enabled = true);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;

 private:
  DeviceType device_type_;
  DType dtype_;
  bool enabled_, cache_enabled_;  // settings that the destructor restores, as it does dtype_
};

namespace detail {

/// Turns autocast off for this thread until the guard ends.
class AutocastOffGuard {
 public:
  AutocastOffGuard() : state_(ThreadContext::current().autocast) {
    if (state_.is_any_enabled) [[unlikely]] {
      saved_enabled_ = std::exchange(state_.enabled, {});
      state_.is_any_enabled = false;
      must_restore_ = true;
    }
  }
  ~AutocastOffGuard() {
    if (!must_restore_) [[likely]]
      return;
    state_.enabled = saved_enabled_;
    state_.is_any_enabled = true;
  }
  AutocastOffGuard(const AutocastOffGuard&) = delete;

 private:
  AutocastState& state_;
  std::array<bool, 2> saved_enabled_{};
  bool must_restore_ = false;
};

}  // namespace detail

}  // namespace tandem
