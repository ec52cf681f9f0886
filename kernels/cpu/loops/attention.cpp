// Loops over a block of attention scores, which run between the matrix products of attention. They loop over the rows
// of the block, one for each query. Scalars 0 to 5: number of columns, number of keys of the block that row 0 sees (row
// r sees r more), scale, whether the mask is bool, and the mask's row and column strides. Strides are in elements.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class C> constexpr C kMinusInfinity = -C(__builtin_inf());

/// Attention mask for a block of scores, or for whole rows of scores.
template <class C> class Mask {
 public:
  Mask(const Loop& loop, int operand, int scalar)
      : mask_(data<char>(loop, operand)),
        is_bool_(loop.scalars[scalar].integer),
        row_(loop.scalars[scalar + 1].integer),
        column_(loop.scalars[scalar + 2].integer) {}
  explicit operator bool() const { return mask_; }
  /// Computes x = x * scale + mask for the first n scores of row r.
  TANDEM_NOINLINE void apply(C* x, int64_t r, int64_t n, C scale) const {
    if (!mask_) {
      for (int64_t i = 0; i < n; ++i) x[i] *= scale;
    } else if (is_bool_) {
      const bool* const m = reinterpret_cast<const bool*>(mask_) + r * row_;
      for (int64_t i = 0; i < n; ++i) x[i] = m[i * column_] ? x[i] * scale : kMinusInfinity<C>;
    } else {
      const C* const m = reinterpret_cast<const C*>(mask_) + r * row_;
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + m[i * column_];
    }
  }
  bool is_fully_masked(int64_t r, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = r * row_ + i * column_;
      if (is_bool_ ? reinterpret_cast<const bool*>(mask_)[at]
                   : reinterpret_cast<const C*>(mask_)[at] != kMinusInfinity<C>)
        return false;
    }
    return true;
  }

 private:
  const char* mask_;
  bool is_bool_;
  int64_t row_, column_;
};
/// Replaces each of the n elements x by e^(x - peak). @return the sum of the results
template <class C> TANDEM_NOINLINE C exps(C* x, int64_t n, C peak) {
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] = math::exp_of_negative(x[i] - peak);
  return lane_sum<C>(n, [=](int64_t i) { return x[i]; });
}
int64_t visible_keys(const Loop& loop, int64_t row) {
  const int64_t columns = loop.scalars[0].integer, seen = loop.scalars[1].integer + row;
  return seen < 0 ? 0 : seen < columns ? seen : columns;
}

/// Replaces a block of scores by powers e^(score - peak), where peak is the largest score of the query so far (online
/// softmax). Operands: scores; peaks so far and sums of powers so far, one of each per query; out so far, which is
/// scaled down when a peak rises; mask. Scalars 6 to 8: whether this is the first block of keys, columns of out, row
/// stride of out.
template <class C> void attention_exps_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t columns = number(0), width = number(7), out_stride = number(8);
  const C scale = C(loop.scalars[2].real);
  const bool first = number(6);
  const Mask<C> mask(loop, 4, 3);
  C *const peaks = data<C>(loop, 1), *const sums = data<C>(loop, 2);
  for (int64_t r = begin; r < end; ++r) {
    C* const x = data<C>(loop, 0) + r * columns;
    const int64_t n = visible_keys(loop, r);
    mask.apply(x, r, n, scale);
    const C found = reduce_lanes<NanIgnoringMax>(x, n), before = first ? kMinusInfinity<C> : peaks[r],
            peak = found > before ? found : before;
    // if the mask hides all keys so far, subtracting 0 (not -infinity) makes all powers 0
    const C base = peak == kMinusInfinity<C> ? C(0) : peak;
    const C sum = exps(x, n, base);
    for (int64_t i = n; i < columns; ++i) x[i] = C(0);
    peaks[r] = peak;
    if (first) {
      sums[r] = sum;
      continue;
    }
    const C rescale = math::exp_of_negative(before - base);
    sums[r] = sums[r] * rescale + sum;
    C* const out = data<C>(loop, 3) + r * out_stride;
    for (int64_t i = 0; i < width; ++i) out[i] *= rescale;
  }
}
/// Divides out by the sums of powers, and writes lse. Operands: peaks, sums of powers, out, lse, mask of whole rows.
/// Scalar 0: number of keys. Scalars 3 to 5: type and strides of the mask. Scalars 6 and 7: columns and row stride of
/// out.
template <class C> void attention_finish_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t width = loop.scalars[6].integer, stride = loop.scalars[7].integer;
  const Mask<C> mask(loop, 4, 3);
  for (int64_t r = begin; r < end; ++r) {
    const C sum = data<const C>(loop, 1)[r];
    C *const out = data<C>(loop, 2) + r * stride, *const lse = data<C>(loop, 3) + r;
    if (!(sum > C(0)) && mask && mask.is_fully_masked(r, loop.scalars[0].integer)) {
      for (int64_t i = 0; i < width; ++i) out[i] = C(0);
      *lse = C(__builtin_inf());
      continue;
    }
    const C factor = C(1) / sum;
    for (int64_t i = 0; i < width; ++i) out[i] *= factor;
    *lse = data<const C>(loop, 0)[r] + math::log(sum);
  }
}
/// Computes the weights of a block, and the gradients of its scores. Operands: scores, which are replaced by the
/// weights; gradients of the weights, which are replaced by the gradients of the products q k^T; lse, out, dout, mask.
/// Scalars 6 to 8: columns of out and dout, row stride of out, row stride of dout.
template <class C> void attention_gradients_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t columns = number(0), width = number(6), out_stride = number(7), dout_stride = number(8);
  const C scale = C(loop.scalars[2].real);
  const Mask<C> mask(loop, 5, 3);
  for (int64_t r = begin; r < end; ++r) {
    C *const x = data<C>(loop, 0) + r * columns, *const dx = data<C>(loop, 1) + r * columns;
    const C *const out = data<C>(loop, 3) + r * out_stride, *const dout = data<C>(loop, 4) + r * dout_stride;
    const int64_t n = visible_keys(loop, r);
    const C lse = data<const C>(loop, 2)[r], mean = lane_sum<C>(width, [=](int64_t i) { return out[i] * dout[i]; });
    mask.apply(x, r, n, scale);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      const C below = x[i] - lse;
      const C weight = math::exp_of_negative(below > C(0) ? C(0) : below);  // `below` exceeds 0 only by rounding
      x[i] = weight;
      dx[i] = weight * (dx[i] - mean) * scale;
    }
    for (int64_t i = n; i < columns; ++i) x[i] = dx[i] = C(0);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_TABLE(attention_exps, attention_exps_body<float>, attention_exps_body<double>)
TANDEM_TABLE(attention_finish, attention_finish_body<float>, attention_finish_body<double>)
TANDEM_TABLE(attention_gradients, attention_gradients_body<float>, attention_gradients_body<double>)
