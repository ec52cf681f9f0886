// Planners of elementwise kernels.
#include "tandem/kernels/elementwise.h"

#include "tandem/kernels/cpu/casts.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

#define TANDEM_DEFINE_CPU_UNARY_KERNEL(op, ...) \
  TANDEM_DECLARE_LOOP(op)                       \
  void op(const Tensor& x, Tensor& y) { run(plan_elementwise(#op, loops::op, {y}, {x}, {}, /*cost=*/4)); }
TANDEM_PARAMETERLESS_UNARY_KERNELS(TANDEM_DEFINE_CPU_UNARY_KERNEL)

#define TANDEM_DEFINE_CPU_BINARY_KERNEL(op, ...) \
  TANDEM_DECLARE_LOOP(op)                        \
  void op(const Tensor& a, const Tensor& b, Tensor& y) { run(plan_elementwise(#op, loops::op, {y}, {a, b})); }
TANDEM_PARAMETERLESS_BINARY_KERNELS(TANDEM_DEFINE_CPU_BINARY_KERNEL)

TANDEM_DECLARE_LOOP(add)
void add(const Tensor& a, const Tensor& b, const Scalar& alpha, Tensor& y) {
  run(plan_elementwise("add", loops::add, {y}, {a, b}, {alpha.loop_scalar(a.dtype())}));
}
TANDEM_DECLARE_LOOP(clamp)
void clamp(const Tensor& x, const Scalar& low, const Scalar& high, Tensor& y) {
  run(plan_elementwise("clamp", loops::clamp, {y}, {x}, {low.loop_scalar(x.dtype()), high.loop_scalar(x.dtype())}));
}
TANDEM_DECLARE_LOOP(clamp_backward)
void clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high, Tensor& dx) {
  run(plan_elementwise("clamp_backward", loops::clamp_backward, {dx}, {dy, x},
                       {low.loop_scalar(x.dtype()), high.loop_scalar(x.dtype())}));
}
TANDEM_DECLARE_LOOP(leaky_relu)
void leaky_relu(const Tensor& x, double slope, Tensor& y) {
  run(plan_elementwise("leaky_relu", loops::leaky_relu, {y}, {x}, {real(slope)}));
}
TANDEM_DECLARE_LOOP(leaky_relu_backward)
void leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope, Tensor& dx) {
  run(plan_elementwise("leaky_relu_backward", loops::leaky_relu_backward, {dx}, {dy, x}, {real(slope)}));
}
TANDEM_DECLARE_LOOP(elu)
void elu(const Tensor& x, double alpha, Tensor& y) {
  run(plan_elementwise("elu", loops::elu, {y}, {x}, {real(alpha)}, 8));
}
TANDEM_DECLARE_LOOP(elu_backward)
void elu_backward(const Tensor& dy, const Tensor& x, double alpha, Tensor& dx) {
  run(plan_elementwise("elu_backward", loops::elu_backward, {dx}, {dy, x}, {real(alpha)}, 8));
}
TANDEM_DECLARE_LOOP(softplus)
void softplus(const Tensor& x, double beta, double threshold, Tensor& y) {
  run(plan_elementwise("softplus", loops::softplus, {y}, {x}, {real(beta), real(threshold)}, 8));
}
TANDEM_DECLARE_LOOP(softplus_backward)
void softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold, Tensor& dx) {
  run(plan_elementwise("softplus_backward", loops::softplus_backward, {dx}, {dy, x}, {real(beta), real(threshold)}, 8));
}

TANDEM_DECLARE_LOOP(where)
void where(const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& y) {
  const DType type = y.dtype();
  run(plan_elementwise("where", loops::where, {y}, {condition, a, b}, {}, 1, &type));
}

void check_divisor(const char* op, const Tensor& b) {
  visit_dtype(b.dtype(), [&]<class T>() {
    const auto check = [](const char* name, const Loop& loop, int64_t begin, int64_t end) {
      const T* const divisors = data<T>(loop, 0);
      bool zero = false;
      for (int64_t i = begin; i < end; ++i) zero |= divisors[i] == T(0);
      TANDEM_CHECK(!zero, name, ": ZeroDivisionError: division of ", loop.dtype, " by 0");
    };
    run(plan_call("check_divisor", b.dtype(), {}, {b}, op, check, b.numel(), 65536));
  });
}

void copy(const Tensor& x, Tensor& y) {
#define TANDEM_CAST_LOOP_ADDRESS(type) &loops::cast_to_##type,
  static constexpr const LoopTables* tables[kDTypeCount] = {TANDEM_FOR_EACH_CAST_DTYPE(TANDEM_CAST_LOOP_ADDRESS)};
  run(plan_elementwise("copy", *tables[static_cast<int>(y.dtype())], {y}, {x}));
}

}  // namespace tandem::kernels::cpu
