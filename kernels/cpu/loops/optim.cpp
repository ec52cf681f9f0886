// Loops of optimizer steps and of gradient clipping. A step is one pass over a parameter, its gradient and its state.
// Parameters and state of half types stay in their type; a step is computed in float, as in PyTorch's fused steps.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"
#include "tandem/kernels/step_values.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Adam step for elements [begin, end). Operands: parameter, exp_avg, exp_avg_sq, max_exp_avg_sq or none, gradient,
/// step, AdamValues. The bias corrections are computed from the step count, which is a tensor.
template <class C> void adam_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::AdamValues& s = *data<const kernels::AdamValues>(loop, 6);
  const double t = double(*data<const float>(loop, 5));
  const C step_size = C(s.lr / (1 - ::pow(s.beta1, t))), root = C(1 / ::sqrt(1 - ::pow(s.beta2, t)));
  const C eps = C(s.eps), b1 = C(s.beta1), a1 = C(s.one_minus_beta1), b2 = C(s.beta2), a2 = C(s.one_minus_beta2);
  const C decay_factor = C(s.decay_factor), weight_decay = C(s.weight_decay);
  const Elements<C> parameter(loop, 0), averages(loop, 1), squares(loop, 2), tops(loop, 3), gradient(loop, 4);
  parameter.for_chunks(end - begin, [&](int64_t from, int64_t n) {
    const int64_t at = begin + from;
    C scratch[5][kTile];
    C *const p = parameter.read(at, n, scratch[0]), *const m = averages.read(at, n, scratch[1]),
             *const v = squares.read(at, n, scratch[2]), *const top = tops ? tops.read(at, n, scratch[3]) : nullptr;
    const C* const g = gradient.read(at, n, scratch[4]);
    const auto one = [&](int64_t i, bool amsgrad) {
      const C grad = g[i] + weight_decay * p[i];
      const C first = b1 * m[i] + a1 * grad;
      C second = b2 * v[i] + a2 * grad * grad;
      m[i] = first;
      v[i] = second;
      if (amsgrad) {
        second = top[i] > second ? top[i] : second;
        top[i] = second;
      }
      p[i] = p[i] * decay_factor - step_size * first / (math::sqrt(second) * root + eps);
    };
    if (top) {
      for (int64_t i = 0; i < n; ++i) one(i, true);
      tops.write(at, n, top);
    } else {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) one(i, false);
    }
    parameter.write(at, n, p);
    averages.write(at, n, m);
    squares.write(at, n, v);
  });
}

/// SGD step for elements [begin, end). Operands: parameter, momentum buffer or none, gradient, SgdValues. Scalar:
/// whether to use Nesterov momentum.
template <class C> void sgd_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::SgdValues& s = *data<const kernels::SgdValues>(loop, 3);
  const C lr = C(s.lr), momentum = C(s.momentum), weight_decay = C(s.weight_decay), buffer_factor = C(s.buffer_factor),
          grad_factor = C(s.grad_factor);
  const bool nesterov = loop.scalars[0].integer;
  const Elements<C> parameter(loop, 0), momenta(loop, 1), gradient(loop, 2);
  parameter.for_chunks(end - begin, [&](int64_t from, int64_t n) {
    const int64_t at = begin + from;
    C scratch[3][kTile];
    C *const p = parameter.read(at, n, scratch[0]), *const buffer = momenta ? momenta.read(at, n, scratch[1]) : nullptr;
    const C* const g = gradient.read(at, n, scratch[2]);
    if (!buffer) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) p[i] = p[i] - lr * (g[i] + weight_decay * p[i]);
    } else if (nesterov) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const C grad = g[i] + weight_decay * p[i], moved = buffer_factor * buffer[i] + grad_factor * grad;
        buffer[i] = moved;
        p[i] = p[i] - lr * (grad + momentum * moved);
      }
    } else {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const C moved = buffer_factor * buffer[i] + grad_factor * (g[i] + weight_decay * p[i]);
        buffer[i] = moved;
        p[i] = p[i] - lr * moved;
      }
    }
    parameter.write(at, n, p);
    if (buffer) momenta.write(at, n, buffer);
  });
}

/// Computes the sums of squares of blocks [begin, end). Operands: sums (float64), x. Scalars: n, elements per block.
template <class C> void square_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, length = loop.scalars[1].integer;
  const Elements<C> elements(loop, 1);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * length, count = n - first < length ? n - first : length;
    Lanes<double> lanes = {};
    elements.for_chunks(count, [&](int64_t from, int64_t piece) {
      C scratch[kTile];
      const C* const x = elements.read(first + from, piece, scratch);
      lanes.add(piece, [x](int64_t i) { return double(x[i]) * double(x[i]); });
    });
    data<double>(loop, 0)[unit] = lanes.fold();
  }
}
/// Returns |x| of an element or of each element of a vector.
template <class A> TANDEM_HD A absolute(A x) {
  if constexpr (requires { x[0]; }) {
    using Bits = decltype(x == x);
    return A(Bits(x) & ~Bits(-A{}));  // without the sign bit
  } else {
    return math::abs(x);
  }
}
struct AbsSum {
  static constexpr bool kOrderMatters = true;
  template <class A> static A identity() { return A(0); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return a + absolute(b); }
};
struct AbsMax {
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return A(0); }
  template <class A> TANDEM_HD static A combine(A a, A b) {
    return propagate_nan(absolute(b) > a ? absolute(b) : a, b);
  }
};
struct AbsMin {
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return A(__builtin_inf()); }
  template <class A> TANDEM_HD static A combine(A a, A b) {
    return propagate_nan(absolute(b) < a ? absolute(b) : a, b);
  }
};
/// Reduces blocks [begin, end) by Op. Operands: one result for each block (float64), x. Scalars: n, elements per block.
template <class Op, class C> void reduce_blocks(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, length = loop.scalars[1].integer;
  const Elements<C> elements(loop, 1);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * length;
    C total = Op::template identity<C>();
    elements.for_chunks(n - first < length ? n - first : length, [&](int64_t from, int64_t piece) {
      C scratch[kTile];
      total = Op::combine(total, reduce_lanes<Op, C>(elements.read(first + from, piece, scratch), piece));
    });
    data<double>(loop, 0)[unit] = double(total);
  }
}
template <class C> void abs_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  reduce_blocks<AbsSum, C>(loop, begin, end);
}
template <class C> void abs_maxima_body(const Loop& loop, int64_t begin, int64_t end) {
  reduce_blocks<AbsMax, C>(loop, begin, end);
}
template <class C> void abs_minima_body(const Loop& loop, int64_t begin, int64_t end) {
  reduce_blocks<AbsMin, C>(loop, begin, end);
}
/// Replaces elements [begin, end) of operand 0, each x by f(x).
template <class C, class F> void change(const Loop& loop, int64_t begin, int64_t end, F f) {
  const Elements<C> elements(loop, 0);
  elements.for_chunks(end - begin, [&](int64_t from, int64_t n) {
    C scratch[kTile];
    C* const x = elements.read(begin + from, n, scratch);
    for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]);
    elements.write(begin + from, n, x);
  });
}
/// Scalar: the factor.
template <class C> void scale_body(const Loop& loop, int64_t begin, int64_t end) {
  change<C>(loop, begin, end, [factor = C(loop.scalars[0].real)](C x) { return x * factor; });
}
/// Scalar: the number.
template <class C> void add_number_body(const Loop& loop, int64_t begin, int64_t end) {
  change<C>(loop, begin, end, [number = C(loop.scalars[0].real)](C x) { return x + number; });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_FLOATING_BODY(adam, adam_body)
TANDEM_FLOATING_BODY(sgd, sgd_body)
TANDEM_FLOATING_BODY(square_sums, square_sums_body)
TANDEM_FLOATING_BODY(abs_sums, abs_sums_body)
TANDEM_FLOATING_BODY(abs_maxima, abs_maxima_body)
TANDEM_FLOATING_BODY(abs_minima, abs_minima_body)
TANDEM_FLOATING_BODY(scale, scale_body)
TANDEM_FLOATING_BODY(add_number, add_number_body)
