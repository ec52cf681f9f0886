// Implements the elementwise operations. Each one calls elementwise() with its ElementKernelTable (kernels by dtype),
// which unary.cu or binary.cu defines.
#include "tandem/kernels/elementwise.h"

#include "tandem/kernels/cuda/planner.h"

namespace tandem::kernels::cuda {

#define TANDEM_DEFINE_CUDA_UNARY_KERNEL(op, ...) \
  namespace tables {                             \
  extern const ElementKernelTable op;            \
  }                                              \
  void op(const Tensor& x, Tensor& y) { elementwise(#op, tables::op, y, {x}); }
TANDEM_PARAMETERLESS_UNARY_KERNELS(TANDEM_DEFINE_CUDA_UNARY_KERNEL)

#define TANDEM_DEFINE_CUDA_BINARY_KERNEL(op, ...) \
  namespace tables {                              \
  extern const ElementKernelTable op;             \
  }                                               \
  void op(const Tensor& a, const Tensor& b, Tensor& y) { elementwise(#op, tables::op, y, {a, b}); }
TANDEM_PARAMETERLESS_BINARY_KERNELS(TANDEM_DEFINE_CUDA_BINARY_KERNEL)

namespace tables {
extern const ElementKernelTable add, clamp, clamp_backward, leaky_relu, leaky_relu_backward, elu, elu_backward,
    softplus, softplus_backward;
}
void add(const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& y) {
  elementwise("add", tables::add, y, {a, b}, {alpha.loop_scalar(a.dtype())});
}
void clamp(const Tensor& x, const Scalar& low, const Scalar& high, Tensor& y) {
  elementwise("clamp", tables::clamp, y, {x}, {low.loop_scalar(x.dtype()), high.loop_scalar(x.dtype())});
}
void clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high, Tensor& dx) {
  elementwise("clamp_backward", tables::clamp_backward, dx, {dy, x},
              {low.loop_scalar(x.dtype()), high.loop_scalar(x.dtype())});
}
void leaky_relu(const Tensor& x, double slope, Tensor& y) {
  elementwise("leaky_relu", tables::leaky_relu, y, {x}, {real(slope)});
}
void leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope, Tensor& dx) {
  elementwise("leaky_relu_backward", tables::leaky_relu_backward, dx, {dy, x}, {real(slope)});
}
void elu(const Tensor& x, double alpha, Tensor& y) { elementwise("elu", tables::elu, y, {x}, {real(alpha)}); }
void elu_backward(const Tensor& dy, const Tensor& x, double alpha, Tensor& dx) {
  elementwise("elu_backward", tables::elu_backward, dx, {dy, x}, {real(alpha)});
}
void softplus(const Tensor& x, double beta, double threshold, Tensor& y) {
  elementwise("softplus", tables::softplus, y, {x}, {real(beta), real(threshold)});
}
void softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold, Tensor& dx) {
  elementwise("softplus_backward", tables::softplus_backward, dx, {dy, x}, {real(beta), real(threshold)});
}

}  // namespace tandem::kernels::cuda
