// Checks of the arguments of operations, and conversions of arguments for the kernels of layers and losses. Internal.
#pragma once
#include <cmath>
#include <limits>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::detail {

/// Returns x as a contiguous tensor, as kernels take it. If x has to be copied, the copy is not recorded by autograd.
inline Tensor contiguous_detached(const Tensor& x) {
  const NoGradGuard guard;
  return x.contiguous();
}
inline void check_floating_point(const char* op, const Tensor& x) {
  TANDEM_CHECK_AS(NotImplementedError, x.is_floating_point(), op, ": not implemented for '", x.dtype(),
                  "'; accepted: floating point");
}
/// Checks that both tensors have one dtype. Every operation that does not promote its operands calls this function.
/// @throws Error that names op and both tensors unless they are of one dtype
inline void check_same_dtype(const char* op, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b) {
  TANDEM_CHECK(a.dtype() == b.dtype(), op, ": expected ", a_name, " and ", b_name,
               " to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
}
/// Checks that both tensors have one dtype and are on one device. @throws Error if they do not
inline void check_same_dtype_and_device(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                                        const Tensor& b) {
  TANDEM_CHECK(a.device() == b.device(), op, ": Expected all tensors to be on the same device, but got ", b_name,
               " is on ", b.device(), ", different from other tensors on ", a.device());
  check_same_dtype(op, a_name, a, b_name, b);
}
/// Checks the operands of a product. @throws Error unless both have one device and one dtype other than bool
inline void check_product_operands(const char* op, const Tensor& a, const Tensor& b) {
  check_same_dtype_and_device(op, "a", a, "b", b);
  TANDEM_CHECK(a.dtype() != kBool, op, ": not implemented for '", a.dtype(), "'; accepted: numbers");
}
/// Checks an optional weight, bias or statistic of a layer; an undefined `param` is accepted.
/// @throws Error unless `param` has `size` elements, is on x's device and has x's dtype. If x has a half dtype, float32
/// is accepted too
inline void check_parameter(const char* op, const char* name, const Tensor& param, int64_t size, const Tensor& x) {
  TANDEM_CHECK(!param.defined() || param.numel() == size, op, ": ", name, " should contain ", size, " elements not ",
               param.numel(), ", got ", param.sizes(), " for x of ", x.sizes());
  TANDEM_CHECK(!param.defined() || param.device() == x.device(), op,
               ": Expected all tensors to be on the same device, but got ", name, " is on ", param.device(),
               ", different from other tensors on ", x.device());
  TANDEM_CHECK(!param.defined() || param.dtype() == x.dtype() ||
                   (is_reduced_floating_point(x.dtype()) && param.dtype() == kFloat32),
               op, ": expected x and ", name, " to have the same dtype, but got: ", x.dtype(), " != ", param.dtype(),
               is_reduced_floating_point(x.dtype()) ? "; float32 is accepted too" : "");
}
/// Returns the dtype in which kernels accumulate elements of `dtype`. Statistics, losses and weights, which exist once
/// per row or channel, have this dtype too.
inline DType accumulate_type(DType dtype) { return is_reduced_floating_point(dtype) ? kFloat32 : dtype; }
/// Converts a weight or bias to the form that kernels take together with elements of `dtype`: contiguous, with dtype
/// accumulate_type(dtype), detached. An undefined tensor stays undefined.
inline Tensor prepare_parameter(const Tensor& param, DType dtype) {
  return param.defined() ? contiguous_detached(param.detach().to(accumulate_type(dtype))) : Tensor();
}

/// Returns the largest finite number of a floating dtype.
inline double max_finite(DType type) {
  return type == kFloat64   ? std::numeric_limits<double>::max()
         : type == kFloat32 ? std::numeric_limits<float>::max()
         : type == kFloat16 ? 65504.0
                            : 0x1.fep127;
}

/// Checks that a tensor of dtype `type` can hold s. Integer dtypes drop a fraction, and uint8 wraps negative integers.
/// Infinities fit every floating dtype.
/// @throws Error if s is outside the range of `type`
inline void check_representable(const char* op, DType type, const Scalar& s) {
  const bool holds = visit_dtype(type, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (!std::is_integral_v<T>) {
      const double size = std::abs(s.to_double());
      return !(size > max_finite(dtype_of<T>())) || std::isinf(size);
    } else {
      constexpr T min_value = std::numeric_limits<T>::min(), max_value = std::numeric_limits<T>::max();
      constexpr T half_range = max_value / 2 + 1;  // a power of two, which a double represents exactly
      if (s.is_floating_point())
        return s.to_double() >= static_cast<double>(min_value) && s.to_double() < static_cast<double>(half_range) * 2;
      return s.to_int64() >= (std::is_signed_v<T> ? int64_t{min_value} : -int64_t{max_value}) &&
             s.to_int64() <= int64_t{max_value};
    }
  });
  TANDEM_CHECK(holds, op, ": value cannot be converted to type ", type, " without overflow: ", s);
}

/// Returns the number of dimensions of x, or 1 for a 0-dim tensor, which is indexed like a vector of one element.
inline int64_t ensure_nonempty_dim(const Tensor& x) { return std::max<int64_t>(x.dim(), 1); }
inline int64_t ensure_nonempty_size(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.size(dim); }
/// Returns x as a contiguous tensor (outer, size of dim, inner), not recorded by autograd. outer and inner are the
/// products of the sizes before and after dim.
inline Tensor as_outer_dim_inner(const Tensor& x, int64_t dim) {
  const NoGradGuard guard;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= x.size(d);
  for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
  return core::try_view(x.contiguous(), {outer, ensure_nonempty_size(x, dim), inner});
}

/// Returns the index as int64, the dtype that kernels take. @throws Error unless it is int64 or int32 and on x's device
inline Tensor check_and_convert_index(const char* op, const Tensor& x, const Tensor& index) {
  TANDEM_CHECK(index.dtype() == kInt64 || index.dtype() == kInt32, op,
               ": Expected dtype int32/int64 for index but got: ", index.dtype());
  TANDEM_CHECK(index.device() == x.device(), op,
               ": Expected all tensors to be on the same device, but got index is on ", index.device(),
               ", different from other tensors on ", x.device());
  return index.to(kInt64);
}

}  // namespace tandem::detail
