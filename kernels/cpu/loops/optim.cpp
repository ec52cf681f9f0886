// Rows of optimizer steps: one pass over a parameter, its gradient and its state; and of gradient clipping. Half types
// keep parameters and state in themselves and compute a step in float, as PyTorch's fused steps do.
#include "tandem/kernels/cpu/loops/rows.h"
#include "tandem/kernels/step_values.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Operands: parameter, exp_avg, exp_avg_sq, max_exp_avg_sq or none, gradient, step, AdamValues. The bias corrections
/// come from the step, which is a tensor.
template <class T> void adam_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::AdamValues& s = *data<const kernels::AdamValues>(loop, 6);
  const double t = double(*data<const float>(loop, 5));
  using C = Upcast<T>;
  const C step_size = C(s.lr / (1 - ::pow(s.beta1, t))), root = C(1 / ::sqrt(1 - ::pow(s.beta2, t)));
  const C eps = C(s.eps), b1 = C(s.beta1), a1 = C(s.rest1), b2 = C(s.beta2), a2 = C(s.rest2);
  const C shrink = C(s.shrink), added = C(s.added);
  T *const p = data<T>(loop, 0), *const m = data<T>(loop, 1), *const v = data<T>(loop, 2),
           *const top = data<T>(loop, 3);
  const T* const g = data<const T>(loop, 4);
  const auto one = [&](int64_t i, bool amsgrad) {
    const C grad = C(g[i]) + added * C(p[i]);
    const C first = b1 * C(m[i]) + a1 * grad;
    C second = b2 * C(v[i]) + a2 * grad * grad;
    m[i] = T(first);
    v[i] = T(second);
    if (amsgrad) second = C(top[i]) > second ? C(top[i]) : second, top[i] = T(second);
    p[i] = T(C(p[i]) * shrink - step_size * first / (math::sqrt(second) * root + eps));
  };
  if (top) {
    for (int64_t i = begin; i < end; ++i) one(i, true);
  } else {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) one(i, false);
  }
}

/// Operands: parameter, momentum buffer or none, gradient, SgdValues. Scalar: nesterov.
template <class T> void sgd_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::SgdValues& s = *data<const kernels::SgdValues>(loop, 3);
  using C = Upcast<T>;
  const C lr = C(s.lr), momentum = C(s.momentum), decay = C(s.decay), old = C(s.old), added = C(s.added);
  const bool nesterov = loop.scalars[0].integer;
  T *const p = data<T>(loop, 0), *const buffer = data<T>(loop, 1);
  const T* const g = data<const T>(loop, 2);
  if (!buffer) {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) p[i] = T(C(p[i]) - lr * (C(g[i]) + decay * C(p[i])));
    return;
  }
  if (nesterov) {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      const C grad = C(g[i]) + decay * C(p[i]), moved = old * C(buffer[i]) + added * grad;
      buffer[i] = T(moved);
      p[i] = T(C(p[i]) - lr * (grad + momentum * moved));
    }
  } else {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      const C moved = old * C(buffer[i]) + added * (C(g[i]) + decay * C(p[i]));
      buffer[i] = T(moved);
      p[i] = T(C(p[i]) - lr * moved);
    }
  }
}

/// Operands: sums (float64), x. Scalars: n, elements of a sum. A unit of the range is one sum of squares.
template <class T> void square_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, length = loop.scalars[1].integer;
  double* const sums = data<double>(loop, 0);
  for (int64_t unit = begin; unit < end; ++unit) {
    const T* const x = data<const T>(loop, 1) + unit * length;
    const int64_t count = n - unit * length < length ? n - unit * length : length;
    sums[unit] = lane_sum<double>(count, [x](int64_t i) { return double(x[i]) * double(x[i]); });
  }
}
/// Operand: x. Scalar: the factor.
template <class T> void scale_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const C factor = C(loop.scalars[0].real);
  T* const x = data<T>(loop, 0);
  for (int64_t i = begin; i < end; ++i) x[i] = T(C(x[i]) * factor);
}
/// Operand: x. Scalar: the number.
template <class T> void add_number_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const C number = C(loop.scalars[0].real);
  T* const x = data<T>(loop, 0);
  for (int64_t i = begin; i < end; ++i) x[i] = T(C(x[i]) + number);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_EACH_FLOATING(adam, adam_body)
TANDEM_EACH_FLOATING(sgd, sgd_body)
TANDEM_EACH_FLOATING(square_sums, square_sums_body)
TANDEM_EACH_FLOATING(scale, scale_body)
TANDEM_EACH_FLOATING(add_number, add_number_body)
