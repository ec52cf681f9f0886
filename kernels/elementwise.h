// Elementwise kernels: inputs broadcast to the output's shape and share its dtype, except where a comment says
// otherwise. One signature list for both backends; a missing twin is a link error.
#pragma once
#include "tandem/core/tensor.h"

// Lists that the planners, the public functions and the tests go through.
// clang-format off
#define TANDEM_PLAIN_UNARY_KERNELS(X)                                                                       \
  X(neg) X(abs) X(sign) X(square) X(relu) X(exp) X(expm1) X(log) X(log1p) X(log2) X(log10) X(sqrt) X(rsqrt) \
  X(sin) X(cos) X(tan) X(tanh) X(sigmoid) X(erf) X(erfc) X(reciprocal) X(floor) X(ceil) X(trunc) X(round)   \
  X(frac) X(silu) X(gelu) X(isnan) X(isinf) X(isfinite) X(logical_not) X(bitwise_not)
#define TANDEM_PLAIN_BINARY_KERNELS(X)                                                                         \
  X(mul) X(div) X(floor_divide) X(remainder) X(fmod) X(pow) X(maximum) X(minimum) X(bitwise_and) X(bitwise_or) \
  X(bitwise_xor) X(squared_difference) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or)        \
  X(logical_xor) X(relu_backward) X(sigmoid_backward) X(tanh_backward) X(gelu_backward) X(silu_backward)
// clang-format on
#define TANDEM_DECLARE_UNARY(op) void op(const Tensor& x, Tensor& y);
#define TANDEM_DECLARE_BINARY(op) void op(const Tensor& a, const Tensor& b, Tensor& y);

#define TANDEM_ELEMENTWISE_KERNELS                                                                           \
  TANDEM_PLAIN_UNARY_KERNELS(TANDEM_DECLARE_UNARY)                                                           \
  TANDEM_PLAIN_BINARY_KERNELS(TANDEM_DECLARE_BINARY) /* comparisons write bool */                            \
  /* y = a + alpha b */                                                                                      \
  void add(const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& y);                                \
  void clamp(const Tensor& x, const Scalar& low, const Scalar& high, Tensor& y);                             \
  void clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high, Tensor& dx); \
  void leaky_relu(const Tensor& x, double slope, Tensor& y);                                                 \
  void leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope, Tensor& dx);                     \
  void elu(const Tensor& x, double alpha, Tensor& y);                                                        \
  void elu_backward(const Tensor& dy, const Tensor& x, double alpha, Tensor& dx);                            \
  void softplus(const Tensor& x, double beta, double threshold, Tensor& y);                                  \
  void softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold, Tensor& dx);      \
  /* y = condition ? a : b; condition is bool */                                                             \
  void where(const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& y);                          \
  /* y = x, of any dtype to any other */                                                                     \
  void copy(const Tensor& x, Tensor& y);

namespace tandem::kernels::cpu {
TANDEM_ELEMENTWISE_KERNELS
/// Of contiguous integers. @throws Error that names op when one of them is 0
void check_divisor(const char* op, const Tensor& b);
}  // namespace tandem::kernels::cpu
namespace tandem::kernels::cuda {
TANDEM_ELEMENTWISE_KERNELS
}
