// Prepares operands for kernels: turns numbers into tensors, promotes dtypes, and determines devices. Internal.
#pragma once
#include "tandem/autograd/record.h"
#include "tandem/ops/promotion.h"

namespace tandem {

/// Checks the alpha of add and sub. @throws Error that names op if alpha is a bool and the result is not, if alpha is a
/// floating-point number and the result is not, or if alpha is outside the range of the result's dtype
void check_alpha(const char* op, DType result, const Scalar& alpha);
void check_subtraction(const char* op, bool either_is_bool, bool both_are_bool = false);

namespace detail {

/// Returns the common dtype of three tensors. The dtypes of tensors with dimensions decide, unless a 0-dim tensor has a
/// dtype of a higher category.
DType result_type(const Tensor& x, const Tensor& a, const Tensor& b);
/// Returns the category that type promotion compares: 2 for floating point, 1 for integers, 0 for bool.
inline int dtype_category(DType t) { return is_floating_point(t) ? 2 : is_integer(t) ? 1 : 0; }
/// Converts integers and bool to the default floating dtype, for operations on floating dtypes.
inline Tensor promote_to_floating(const Tensor& x) { return x.is_floating_point() ? x : x.to(get_default_dtype()); }
/// Returns a number as a 0-dim tensor, to be combined with tensors on `device`. For a GPU the tensor stays on the host,
/// and the kernel receives the number as a launch argument.
inline Tensor wrapped_scalar_tensor(Device device, const Scalar& s, DType dtype) {
  return core::scalar(s, dtype, device.is_cuda() ? Device(kCPU) : device);
}
/// Returns a number as a 0-dim tensor, to be combined with x, in the dtype of the result.
inline Tensor wrap_scalar(const Tensor& x, const Scalar& s) {
  return wrapped_scalar_tensor(x.device(), s, result_type(x, s));
}

/// Like wrap_scalar(x, s), for true division: the dtype is always floating, because an integer dtype might not hold
/// the number.
inline Tensor wrap_scalar_as_floating(const Tensor& x, const Scalar& s) {
  const DType type = result_type(x, s);
  return wrapped_scalar_tensor(x.device(), s, is_floating_point(type) ? type : get_default_dtype());
}
/// Checks that no integer is divided by 0. A divisor on a GPU is not checked, because the check would synchronize;
/// there the quotient and the remainder by 0 are 0.
/// @throws Error if b is an integer tensor on the host that contains 0
void check_divisor(const char* op, const Tensor& b, const Shape& sizes);
/// Values of the column `accepts` in core/elementwise_ops.h.
enum class AcceptedDtypes {
  any,
  numbers,
  counted,
  floating,
  real,
  stepped,
  rounded,
  divided,
  powers,
  integral,
  integers
};
/// Checks that the operation accepts the dtype; a dtype that is converted first is accepted. @throws Error that names
/// op
inline void check_accepted_dtype(const char* op, AcceptedDtypes accepts, DType type) {
  switch (accepts) {
    case AcceptedDtypes::numbers:
    case AcceptedDtypes::rounded:
    case AcceptedDtypes::divided:
    case AcceptedDtypes::powers:
      TANDEM_CHECK_AS(NotImplementedError, type != kBool, op, ": not implemented for '", type, "'; accepted: numbers");
      break;
    case AcceptedDtypes::real:
    case AcceptedDtypes::stepped:
      TANDEM_CHECK_AS(NotImplementedError, is_floating_point(type), op, ": not implemented for '", type,
                      "'; accepted: floating point");
      break;
    case AcceptedDtypes::integers:
      TANDEM_CHECK_AS(NotImplementedError, !is_floating_point(type) && type != kBool, op, ": not implemented for '",
                      type, "'; accepted: integers");
      break;
    case AcceptedDtypes::integral:
      TANDEM_CHECK_AS(NotImplementedError, !is_floating_point(type), op, ": not implemented for '", type,
                      "'; accepted: integers and bool");
      break;
    default: break;
  }
}

/// Returns x, but moves it to `device` if it is a 0-dim CPU tensor that is combined with a GPU's tensors and requires a
/// gradient.
inline Tensor move_scalar_to_device(const Tensor& x, Device device) {
  const bool number = device.is_cuda() && x.is_cpu() && x.dim() == 0;
  return number && autograd::tensor_requires_grad(x) ? x.to(device) : x;
}
/// Returns the device on which two tensors are combined. Both must be on it, except that a 0-dim CPU tensor may be
/// combined with a GPU's tensor.
inline Device common_device(const char* op, const Tensor& a, const Tensor& b) {
  if (a.is_cuda() && b.is_cpu() && b.dim() == 0) return a.device();
  if (b.is_cuda() && a.is_cpu() && a.dim() == 0) return b.device();
  TANDEM_CHECK(a.device() == b.device(), op,
               ": Expected all tensors to be on the same device, but found at least two devices, ", a.device(), " and ",
               b.device());
  return a.device();
}
/// Converts x to `type`, and moves it to `device` if move_scalar_to_device() does. In nearly every call x is returned
/// unchanged.
inline Tensor convert_operand(const Tensor& x, Device device, DType type) {
  if (x.dtype() == type && x.device() == device) [[likely]]
    return x;
  return move_scalar_to_device(x, device).to(type);
}
struct Operands {
  Tensor a, b;
  Shape sizes;
  Device device;
};
/// Converts both tensors to the common dtype (a floating one if to_floating) and returns them with the broadcast sizes
/// and the common device.
inline Operands promote_operands(const char* op, const Tensor& a, const Tensor& b, bool to_floating = false) {
  const Device device = common_device(op, a, b);
  DType type = a.dtype() == b.dtype() ? a.dtype() : result_type(a, b);
  if (to_floating && !is_floating_point(type)) type = get_default_dtype();
  return {convert_operand(a, device, type), convert_operand(b, device, type),
          a.sizes() == b.sizes() ? Shape(a.sizes()) : broadcast_shapes(op, a.sizes(), b.sizes()), device};
}

/// Like promote_operands(), for operations that accept floating dtypes only. @throws Error that names op for another
/// dtype
inline Operands promote_real_operands(const char* op, const Tensor& a, const Tensor& b) {
  Operands o = promote_operands(op, a, b);
  check_accepted_dtype(op, AcceptedDtypes::real, o.a.dtype());
  return o;
}

/// Checks that the dtype is not a half type. @throws NotImplementedError that names op, for half types
inline void check_not_half(const char* op, DType dtype) {
  TANDEM_CHECK_AS(NotImplementedError, !is_reduced_floating_point(dtype), op, ": not implemented for '", dtype,
                  "'; accepted: float32 and float64");
}

/// Checks an in-place operation. @throws Error unless x keeps its sizes, and its dtype can hold the result
void check_inplace_result(const char* op, const Tensor& x, const Tensor& other, DType result);
/// Returns whether a kernel that writes x can take `other` without a conversion: `other` has x's dtype, and is on x's
/// device or is a 0-dim CPU tensor.
inline bool is_kernel_compatible(const Tensor& x, const Tensor& other) {
  return other.dtype() == x.dtype() &&
         (other.device() == x.device() || (x.is_cuda() && other.is_cpu() && other.dim() == 0));
}
/// Checks an in-place operation with a number. @throws Error unless x's dtype can hold numbers of this kind
void check_scalar_fits(const char* op, const Tensor& x, const Scalar& s);

inline Tensor empty_result(const Operands& o, DType dtype) {
  return core::empty_result(o.sizes, dtype, o.device, o.a, o.b);
}

}  // namespace detail
}  // namespace tandem
