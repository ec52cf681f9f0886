// Elementwise kernels. Inputs broadcast to the output's shape and have the output's dtype, unless a comment says
// otherwise. One list of signatures for both backends; if a backend does not define a kernel, the link fails.
#pragma once
#include "tandem/core/elementwise_ops.h"
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

// Kernels whose only arguments are tensors. The planners and the tests expand these lists.
#define TANDEM_PARAMETERLESS_UNARY_KERNELS(X) \
  TANDEM_ALL_UNARY_OPS(X) TANDEM_SPECIAL_OPS(X) TANDEM_PREDICATE_OPS(X) X(gelu_tanh, GeluTanh)
#define TANDEM_PARAMETERLESS_BINARY_KERNELS(X) \
  TANDEM_ALL_BINARY_OPS(X)                     \
  TANDEM_SPECIAL_BINARY_OPS(X) TANDEM_GRADIENT_OPS(X) X(squared_difference, SquaredDifference)
#define TANDEM_DECLARE_UNARY(op, ...) void op(const Tensor& x, Tensor& y);
#define TANDEM_DECLARE_BINARY(op, ...) void op(const Tensor& a, const Tensor& b, Tensor& y);

#define TANDEM_ELEMENTWISE_KERNELS                                                                           \
  TANDEM_PARAMETERLESS_UNARY_KERNELS(TANDEM_DECLARE_UNARY)                                                   \
  TANDEM_PARAMETERLESS_BINARY_KERNELS(TANDEM_DECLARE_BINARY) /* comparisons write bool */                    \
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
/// Checks b, which holds contiguous integers. @throws Error that names op if an element of b is 0
void check_divisor(const char* op, const Tensor& b);
}  // namespace tandem::kernels::cpu
namespace tandem::kernels::cuda {
TANDEM_ELEMENTWISE_KERNELS
}
namespace tandem::kernels {
/// Returns whether integer divisors are checked for 0 on this device. On CUDA they are not, because the host would have
/// to wait for the GPU.
inline bool checks_divisors(Device device) { return device.is_cpu(); }
using cpu::check_divisor;
}  // namespace tandem::kernels
