// Casts of operands under autocast: how an operation applies its cast policy. Internal.
#pragma once
#include "tandem/core/autocast.h"
#include "tandem/core/cast_policy.h"
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Casts the operands of one call of an operation. The operation begins with the line
///   if (const Autocast cast{cast_policy::mm, a, b}) return mm(cast(a), cast(b));
/// The object is true if autocast is on for the device of an operand. Then autocast is off until the object is
/// destroyed, so that the second call of the operation, and the operations that it calls, compute in the dtypes that
/// they are given. While autocast is off the line costs one branch.
class Autocast {
 public:
  /// Each operand is a Tensor, which may be undefined, or a TensorList.
  template <class... Operands> explicit Autocast(CastPolicy policy, const Operands&... operands) {
    if (ThreadContext::current().autocast.is_any_enabled && policy != CastPolicy::none) [[unlikely]]
      disable_autocast(policy, {as_tensor_list(operands)...});
  }
  template <CastPolicy policy, class... Operands>
  explicit Autocast(CastPolicyConstant<policy>, const Operands&... operands) : Autocast(policy, operands...) {}
  ~Autocast() {
    if (is_active_) [[unlikely]]
      restore_autocast();
  }
  Autocast(const Autocast&) = delete;
  explicit operator bool() const { return is_active_; }

  /// Returns x in the dtype of the policy. The cast is recorded. Integers, float64, tensors of another device type and
  /// undefined tensors stay as they are, and while autocast is off all tensors do.
  Tensor operator()(const Tensor& x) const;
  std::vector<Tensor> operator()(TensorList list) const;
  std::optional<Tensor> operator()(const std::optional<Tensor>& x) const;

 private:
  static TensorList as_tensor_list(TensorList list) { return list; }
  void disable_autocast(CastPolicy policy, std::initializer_list<TensorList> operands);
  void restore_autocast();
  bool is_eligible(const Tensor& x) const;

  bool is_active_ = false;
  DeviceType device_type_{};
  DType cast_dtype_{};
  std::array<bool, 2> previous_enabled_{};  // the state to restore
};

}  // namespace tandem::detail
