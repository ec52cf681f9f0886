// What operations ask of their arguments, and how the kernels of layers and losses get them. Internal.
#pragma once
#include <limits>

#include "tandem/autograd/copy.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Contiguous, and without history: for kernels.
inline Tensor dense(const Tensor& x) {
  const NoGradGuard guard;
  return x.contiguous();
}
inline void check_real(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), op, ": dtype is ", x.dtype(), "; accepted: floating point");
}
/// A weight, bias or statistic, or none: `size` elements on x's device, of x's dtype or, beside a half type, of
/// float32.
inline void check_part(const char* op, const char* name, const Tensor& part, int64_t size, const Tensor& x) {
  TANDEM_CHECK(!part.defined() || (part.numel() == size && part.device() == x.device()), op, ": ", name, " is ",
               part.sizes(), " on ", part.device(), "; accepted: ", size, " elements on ", x.device(), ", as x of ",
               x.sizes(), " has");
  TANDEM_CHECK(!part.defined() || part.dtype() == x.dtype() || (is_half(x.dtype()) && part.dtype() == kFloat32), op,
               ": ", name, " is ", part.dtype(), " and x is ", x.dtype(), "; both must be of one dtype",
               is_half(x.dtype()) ? ", or it of float32" : "");
}
/// Kernels of whole rows exist for float32 and float64; half types go through float.
inline Tensor widened(const Tensor& x) { return is_half(x.dtype()) ? x.to(kFloat32) : x; }

/// @throws Error unless a tensor of this dtype holds s: of a number's fraction nothing stays in an integer, and a
/// negative one wraps in uint8, but one that is too large is a mistake
inline void check_holds(const char* op, DType type, const Scalar& s) {
  const bool holds = visit_dtype(type, [&]<class T>() {
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      return true;
    } else {
      constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
      constexpr T middle = most / 2 + 1;  // a power of two, of which a double is exact
      if (s.is_floating_point())
        return s.to_double() >= static_cast<double>(least) && s.to_double() < static_cast<double>(middle) * 2;
      return s.to_int64() >= (std::is_signed_v<T> ? int64_t{least} : -int64_t{most}) && s.to_int64() <= int64_t{most};
    }
  });
  TANDEM_CHECK(holds, op, ": the number ", s, " does not fit ", type);
}

}  // namespace tandem::detail
