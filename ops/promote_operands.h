// Prepares operands before a kernel sees them: numbers beside tensors, dtypes, devices. Internal.
#pragma once
#include "tandem/autograd/record.h"
#include "tandem/ops/promotion.h"

namespace tandem {

/// Of add and sub: alpha is a bool only where the result is one, an integer where that is of integers, and in the
/// dtype's range; and bools are not subtracted. @throws Error that names op
void check_alpha(const char* op, DType result, const Scalar& alpha);
void check_subtraction(const char* op, bool either_is_bool);

namespace detail {

/// The common dtype of three, of which those with dimensions decide unless another's kind is higher.
DType result_type(const Tensor& x, const Tensor& a, const Tensor& b);
/// By which dtypes promote: floating point before integers before bool.
inline int category(DType t) { return is_floating_point(t) ? 2 : is_integer(t) ? 1 : 0; }
/// An operation on floating types: integers and bool become the default floating dtype first.
inline Tensor floating(const Tensor& x) { return x.is_floating_point() ? x : x.to(get_default_dtype()); }
/// A number as a 0-dim tensor beside tensors of that device. Beside a GPU's it stays on the host, from which the
/// kernel's launch takes it along.
inline Tensor number_beside(Device device, const Scalar& s, DType dtype) {
  return core::scalar(s, dtype, device.is_cuda() ? Device(kCPU) : device);
}
/// The same beside x, in the dtype of the result.
inline Tensor beside(const Tensor& x, const Scalar& s) { return number_beside(x.device(), s, result_type(x, s)); }

/// As beside, for true division: never an integer, of which the number might be more than the dtype holds.
inline Tensor beside_divided(const Tensor& x, const Scalar& s) {
  const DType type = result_type(x, s);
  return number_beside(x.device(), s, is_floating_point(type) ? type : get_default_dtype());
}
/// An integer has no quotient and no rest by 0. On a GPU, where a check would have to wait, both are 0; a divisor on
/// the host is checked for it too.
void check_divisor(const char* op, const Tensor& b, const Shape& sizes);
/// The column of that name in core/elementwise_ops.h.
enum class Accepts { any, numbers, counted, floating, real, stepped, rounded, divided, powers, integral, integers };
/// @throws Error that names op unless it accepts the dtype. What becomes another dtype first is accepted here.
inline void check_accepted(const char* op, Accepts accepts, DType type) {
  switch (accepts) {
    case Accepts::numbers:
    case Accepts::rounded:
    case Accepts::divided:
    case Accepts::powers:
      TANDEM_CHECK_AS(NotImplementedError, type != kBool, op, ": dtype is bool; accepted: numbers");
      break;
    case Accepts::real:
    case Accepts::stepped:
      TANDEM_CHECK_AS(NotImplementedError, is_floating_point(type), op, ": dtype is ", type,
                      "; accepted: floating point");
      break;
    case Accepts::integers:
      TANDEM_CHECK_AS(NotImplementedError, !is_floating_point(type) && type != kBool, op, ": dtype is ", type,
                      "; accepted: integers");
      break;
    case Accepts::integral:
      TANDEM_CHECK_AS(NotImplementedError, !is_floating_point(type), op, ": dtype is ", type,
                      "; accepted: integers and bool");
      break;
    default: break;
  }
}

/// x, or a number on the host that stands beside a GPU's tensor: moved there if a gradient is to come back.
inline Tensor placed(const Tensor& x, Device device) {
  const bool number = device.is_cuda() && x.is_cpu() && x.dim() == 0;
  return number && autograd::wants_grad(x) ? x.to(device) : x;
}
/// Where two tensors are combined: both must be there, but for a 0-dim CPU tensor beside a GPU's.
inline Device common_device(const char* op, const Tensor& a, const Tensor& b) {
  if (a.is_cuda() && b.is_cpu() && b.dim() == 0) return a.device();
  if (b.is_cuda() && a.is_cpu() && a.dim() == 0) return b.device();
  TANDEM_CHECK(a.device() == b.device(), op, ": a is on ", a.device(), " and b on ", b.device(),
               "; both must be on one device");
  return a.device();
}
/// x in that dtype, placed for that device: in nearly every call itself.
inline Tensor operand(const Tensor& x, Device device, DType type) {
  if (x.dtype() == type && x.device() == device) [[likely]]
    return x;
  return placed(x, device).to(type);
}
struct Operands {
  Tensor a, b;
  Shape sizes;
  Device device;
};
/// Both in the common dtype (a floating one if asked), on one device.
inline Operands prepare(const char* op, const Tensor& a, const Tensor& b, bool to_floating = false) {
  const Device device = common_device(op, a, b);
  DType type = a.dtype() == b.dtype() ? a.dtype() : result_type(a, b);
  if (to_floating && !is_floating_point(type)) type = get_default_dtype();
  return {operand(a, device, type), operand(b, device, type),
          a.sizes() == b.sizes() ? Shape(a.sizes()) : broadcast_shapes(op, a.sizes(), b.sizes()), device};
}

/// Both as they are combined, floating point already. @throws Error that names op
inline Operands real_operands(const char* op, const Tensor& a, const Tensor& b) {
  Operands o = prepare(op, a, b);
  check_accepted(op, Accepts::real, o.a.dtype());
  return o;
}

/// @throws NotImplementedError that names op, for half types
inline void check_precise(const char* op, DType dtype) {
  TANDEM_CHECK_AS(NotImplementedError, !is_half(dtype), op, ": dtype is ", dtype, "; accepted: float32 and float64");
}

/// Of an operation in place: x keeps its shape, and its dtype holds the result's kind.
void check_inplace_result(const char* op, const Tensor& x, const Tensor& other, DType result);
/// Whether a kernel that writes x takes `other` as it is: a number on the host may stand beside a GPU's tensor.
inline bool stands_beside(const Tensor& x, const Tensor& other) {
  return other.dtype() == x.dtype() &&
         (other.device() == x.device() || (x.is_cuda() && other.is_cpu() && other.dim() == 0));
}
/// Of an operation in place with a number: x's dtype holds numbers of its kind.
void check_number_held(const char* op, const Tensor& x, const Scalar& s);

inline Tensor like(const Operands& o, DType dtype) { return core::empty_for(o.sizes, dtype, o.device, o.a, o.b); }

}  // namespace detail
}  // namespace tandem
