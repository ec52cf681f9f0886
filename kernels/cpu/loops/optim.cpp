// Loops of optimizer steps and of gradient clipping. A step is one pass over a parameter, its gradient and its state.
// Parameters and state of half types stay in their type; a step is computed in float, as in PyTorch's fused steps. The
// gradient may have another dtype. A half copy of the parameter may be written in the same pass.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"
#include "tandem/kernels/step_values.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Multiplies a gradient by the factor of a GradScaler's step. In other steps, returns the gradient itself, so that the
/// compiler cannot fuse a multiplication by 1 with the next operation, which would change the rounding.
template <class C> struct ScaledBy {
  explicit ScaledBy(const kernels::GradientScaling& scaling) : factor(C(scaling.factor)), any(scaling.factor != 1) {}
  TANDEM_HD C operator()(C gradient) const { return any ? gradient * factor : gradient; }
  C factor;
  bool any;
};

/// Calls f(first, count) for consecutive pieces of n elements: of kTileSize elements if an operand is of a half type,
/// else one piece.
template <class C, class F>
void for_pieces(int64_t n, const OperandElements<C>& parameter, const OperandElements<C>& copy,
                const OperandElements<C>& gradient, F f) {
  (copy.is_reduced_floating_point()       ? copy
   : gradient.is_reduced_floating_point() ? gradient
                                          : parameter)
      .for_chunks(n, f);
}

/// Replaces master weights by the elements of their half copy where these are not the rounded weights: there the
/// program has changed the parameter since the last step.
template <class C> void adopt_changes(const OperandElements<C>& copy, int64_t at, int64_t n, C* weights) {
  C scratch[kTileSize], rounded[kTileSize];
  const C* const now = copy.read(at, n, scratch);
  copy.round(n, weights, rounded);
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) weights[i] = rounded[i] == now[i] ? weights[i] : now[i];
}

/// Adam step for elements [begin, end). Operands: parameter, exp_avg, exp_avg_sq, max_exp_avg_sq or none, half copy of
/// the parameter or none, gradient, step, AdamValues. Scalars: dtypes of the gradient and of the copy. The bias
/// corrections are computed from the step count, which is a tensor.
template <class C> void adam_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::AdamValues& s = *data<const kernels::AdamValues>(loop, 7);
  if (s.scaling.found_inf != 0) return;
  const ScaledBy<C> scaled(s.scaling);
  const double t = double(*data<const float>(loop, 6));
  const C step_size = C(s.lr / (1 - ::pow(s.beta1, t))), root = C(1 / ::sqrt(1 - ::pow(s.beta2, t)));
  const C eps = C(s.eps), b1 = C(s.beta1), a1 = C(s.one_minus_beta1), b2 = C(s.beta2), a2 = C(s.one_minus_beta2);
  const C decay_factor = C(s.decay_factor), weight_decay = C(s.weight_decay);
  const OperandElements<C> parameter(loop, 0), averages(loop, 1), squares(loop, 2), tops(loop, 3),
      copy(loop, 4, DType(loop.scalars[1].integer)), gradient(loop, 5, DType(loop.scalars[0].integer));
  for_pieces(end - begin, parameter, copy, gradient, [&](int64_t from, int64_t n) {
    const int64_t at = begin + from;
    C scratch[5][kTileSize];
    C *const p = parameter.read(at, n, scratch[0]), *const m = averages.read(at, n, scratch[1]),
             *const v = squares.read(at, n, scratch[2]), *const top = tops ? tops.read(at, n, scratch[3]) : nullptr;
    const C* const g = gradient.read(at, n, scratch[4]);
    if (copy) adopt_changes(copy, at, n, p);
    const auto one = [&](int64_t i, bool amsgrad) {
      const C grad = scaled(g[i]) + weight_decay * p[i];
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
    if (copy) copy.write(at, n, p);
    averages.write(at, n, m);
    squares.write(at, n, v);
  });
}

/// SGD step for elements [begin, end). Operands: parameter, momentum buffer or none, half copy of the parameter or
/// none, gradient, SgdValues. Scalars: dtypes of the gradient and of the copy, whether to use Nesterov momentum.
template <class C> void sgd_body(const Loop& loop, int64_t begin, int64_t end) {
  const kernels::SgdValues& s = *data<const kernels::SgdValues>(loop, 4);
  if (s.scaling.found_inf != 0) return;
  const ScaledBy<C> scaled(s.scaling);
  const C lr = C(s.lr), momentum = C(s.momentum), weight_decay = C(s.weight_decay), buffer_factor = C(s.buffer_factor),
          grad_factor = C(s.grad_factor);
  const bool nesterov = loop.scalars[2].integer;
  const OperandElements<C> parameter(loop, 0), momenta(loop, 1), copy(loop, 2, DType(loop.scalars[1].integer)),
      gradient(loop, 3, DType(loop.scalars[0].integer));
  for_pieces(end - begin, parameter, copy, gradient, [&](int64_t from, int64_t n) {
    const int64_t at = begin + from;
    C scratch[3][kTileSize];
    C *const p = parameter.read(at, n, scratch[0]), *const buffer = momenta ? momenta.read(at, n, scratch[1]) : nullptr;
    const C* const g = gradient.read(at, n, scratch[2]);
    if (copy) adopt_changes(copy, at, n, p);
    if (!buffer) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) p[i] = p[i] - lr * (scaled(g[i]) + weight_decay * p[i]);
    } else if (nesterov) {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const C grad = scaled(g[i]) + weight_decay * p[i], moved = buffer_factor * buffer[i] + grad_factor * grad;
        buffer[i] = moved;
        p[i] = p[i] - lr * (grad + momentum * moved);
      }
    } else {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const C moved = buffer_factor * buffer[i] + grad_factor * (scaled(g[i]) + weight_decay * p[i]);
        buffer[i] = moved;
        p[i] = p[i] - lr * moved;
      }
    }
    parameter.write(at, n, p);
    if (copy) copy.write(at, n, p);
    if (buffer) momenta.write(at, n, buffer);
  });
}

/// Computes the sums of squares of blocks [begin, end). Operands: sums (float64), x. Scalars: n, elements per block.
template <class C> void square_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, length = loop.scalars[1].integer;
  const OperandElements<C> elements(loop, 1);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * length, count = n - first < length ? n - first : length;
    Lanes<double> lanes = {};
    elements.for_chunks(count, [&](int64_t from, int64_t piece) {
      C scratch[kTileSize];
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
  const OperandElements<C> elements(loop, 1);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * length;
    C total = Op::template identity<C>();
    elements.for_chunks(n - first < length ? n - first : length, [&](int64_t from, int64_t piece) {
      C scratch[kTileSize];
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
template <class C, class F> void transform_elements(const Loop& loop, int64_t begin, int64_t end, F f) {
  const OperandElements<C> elements(loop, 0);
  elements.for_chunks(end - begin, [&](int64_t from, int64_t n) {
    C scratch[kTileSize];
    C* const x = elements.read(begin + from, n, scratch);
    for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]);
    elements.write(begin + from, n, x);
  });
}
/// Scalar: the factor.
template <class C> void scale_body(const Loop& loop, int64_t begin, int64_t end) {
  transform_elements<C>(loop, begin, end, [factor = C(loop.scalars[0].real)](C x) { return x * factor; });
}
/// Scalar: the number. Operand 1: float32 number, or none; if it is not 0, nothing is changed.
template <class C> void add_number_body(const Loop& loop, int64_t begin, int64_t end) {
  if (const float* const skip = data<const float>(loop, 1); skip && *skip != 0) return;
  transform_elements<C>(loop, begin, end, [number = C(loop.scalars[0].real)](C x) { return x + number; });
}
/// Sets the number that operand 0 holds to 1 if one of n elements is infinite or NaN: 0 times such an element is NaN.
/// Several threads may set it, so the store is atomic.
template <class C> void note_non_finite(const Loop& loop, const C* x, int64_t n) {
  constexpr uint32_t kBitsOfOne = 0x3f800000;
  if (!(lane_sum<C>(n, [x](int64_t i) { return x[i] * C(0); }) == 0))
    __atomic_store_n(data<uint32_t>(loop, 0), kBitsOfOne, __ATOMIC_RELAXED);
}
/// Operands: found_inf (float32), gradient, factor (float32).
template <class C> void unscale_body(const Loop& loop, int64_t begin, int64_t end) {
  const C factor = C(*data<const float>(loop, 2));
  const OperandElements<C> gradient(loop, 1);
  for (int64_t from = begin; from < end; from += kTileSize) {
    const int64_t n = end - from < kTileSize ? end - from : kTileSize;
    C scratch[kTileSize];
    C* const g = gradient.read(from, n, scratch);
    note_non_finite(loop, g, n);
    for (int64_t i = 0; i < n; ++i) g[i] *= factor;
    gradient.write(from, n, g);
  }
}
/// Operands: found_inf (float32), x.
template <class C> void find_non_finite_body(const Loop& loop, int64_t begin, int64_t end) {
  const OperandElements<C> x(loop, 1);
  for (int64_t from = begin; from < end; from += kTileSize) {
    const int64_t n = end - from < kTileSize ? end - from : kTileSize;
    C scratch[kTileSize];
    note_non_finite(loop, x.read(from, n, scratch), n);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(adam, adam_body)
TANDEM_COMPUTE_TYPE_LOOP(sgd, sgd_body)
TANDEM_COMPUTE_TYPE_LOOP(square_sums, square_sums_body)
TANDEM_COMPUTE_TYPE_LOOP(abs_sums, abs_sums_body)
TANDEM_COMPUTE_TYPE_LOOP(abs_maxima, abs_maxima_body)
TANDEM_COMPUTE_TYPE_LOOP(abs_minima, abs_minima_body)
TANDEM_COMPUTE_TYPE_LOOP(scale, scale_body)
TANDEM_COMPUTE_TYPE_LOOP(add_number, add_number_body)
TANDEM_COMPUTE_TYPE_LOOP(unscale, unscale_body)
TANDEM_COMPUTE_TYPE_LOOP(find_non_finite, find_non_finite_body)
