// Rows of optimizer steps: one pass over a parameter, its gradient and its state; and of gradient clipping.
#include "tandem/kernels/cpu/loops/real.h"
#include "tandem/kernels/step_values.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Operands: parameter, exp_avg, exp_avg_sq, max_exp_avg_sq or none, gradient, step, AdamValues. The bias corrections
/// come from the step, which is a tensor.
template <class T> void adam_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::AdamValues& s = *data<const kernels::AdamValues>(loop, 6);
  const double t = double(*data<const float>(loop, 5));
  const T step_size = T(s.lr / (1 - ::pow(s.beta1, t))), root = T(1 / ::sqrt(1 - ::pow(s.beta2, t)));
  const T eps = T(s.eps), b1 = T(s.beta1), a1 = T(s.rest1), b2 = T(s.beta2), a2 = T(s.rest2);
  const T shrink = T(s.shrink), added = T(s.added);
  T *const p = data<T>(loop, 0), *const m = data<T>(loop, 1), *const v = data<T>(loop, 2),
           *const top = data<T>(loop, 3);
  const T* const g = data<const T>(loop, 4);
  const auto one = [&](int64_t i, bool amsgrad) {
    const T grad = g[i] + added * p[i];
    m[i] = b1 * m[i] + a1 * grad;
    v[i] = b2 * v[i] + a2 * grad * grad;
    T second = v[i];
    if (amsgrad) second = top[i] = top[i] > second ? top[i] : second;
    p[i] = p[i] * shrink - step_size * m[i] / (math::sqrt(second) * root + eps);
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
  const T lr = T(s.lr), momentum = T(s.momentum), decay = T(s.decay), old = T(s.old), added = T(s.added);
  const bool nesterov = loop.scalars[0].integer;
  T *const p = data<T>(loop, 0), *const buffer = data<T>(loop, 1);
  const T* const g = data<const T>(loop, 2);
  if (!buffer) {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) p[i] -= lr * (g[i] + decay * p[i]);
    return;
  }
  if (nesterov) {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      const T grad = g[i] + decay * p[i];
      buffer[i] = old * buffer[i] + added * grad;
      p[i] -= lr * (grad + momentum * buffer[i]);
    }
  } else {
    TANDEM_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      buffer[i] = old * buffer[i] + added * (g[i] + decay * p[i]);
      p[i] -= lr * buffer[i];
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
  const T factor = T(loop.scalars[0].real);
  T* const x = data<T>(loop, 0);
  for (int64_t i = begin; i < end; ++i) x[i] *= factor;
}
/// Operand: x. Scalar: the number.
template <class T> void add_number_body(const Loop& loop, int64_t begin, int64_t end) {
  const T number = T(loop.scalars[0].real);
  T* const x = data<T>(loop, 0);
  for (int64_t i = begin; i < end; ++i) x[i] += number;
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_REAL_ROW(adam, adam_body)
TANDEM_REAL_ROW(sgd, sgd_body)
TANDEM_REAL_ROW(square_sums, square_sums_body)
TANDEM_REAL_ROW(scale, scale_body)
TANDEM_REAL_ROW(add_number, add_number_body)
