// Loops over a block of attention scores, which run between the matrix products of attention. Each row of the block
// belongs to one query, each column to one key. Scalars 0 to 5: number of columns, number of columns that row 0 may see
// (row r sees r more), scale, dtype of the mask, and the mask's row and column strides. Strides are in elements.
#include "tandem/kernels/cpu/loops/lanes.h"
#include "tandem/kernels/cpu/loops/philox_tile.h"
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class C> constexpr C kMinusInfinity = -C(__builtin_inf());

/// Attention mask for a block of scores, or for whole rows of scores.
template <class C> class Mask {
 public:
  Mask(const Loop& loop, int operand, int scalar)
      : mask_(data<char>(loop, operand)),
        dtype_(static_cast<DType>(loop.scalars[scalar].integer)),
        row_stride_(loop.scalars[scalar + 1].integer),
        column_stride_(loop.scalars[scalar + 2].integer) {}
  explicit operator bool() const { return mask_; }
  /// Computes x = x * scale + mask for the first n scores of row r.
  TANDEM_NOINLINE void apply(C* x, int64_t r, int64_t n, C scale) const {
    if (!mask_) {
      for (int64_t i = 0; i < n; ++i) x[i] *= scale;
    } else if (dtype_ == DType::boolean) {
      const bool* const m = as<bool>(mask_) + r * row_stride_;
      for (int64_t i = 0; i < n; ++i) x[i] = m[i * column_stride_] ? x[i] * scale : kMinusInfinity<C>;
    } else {
      visit_type<C>(dtype_, [&]<class T>() {
        const T* const m = as<T>(mask_) + r * row_stride_;
        for (int64_t i = 0; i < n; ++i) x[i] = x[i] * scale + C(m[i * column_stride_]);
      });
    }
  }
  bool is_fully_masked(int64_t r, int64_t n) const {
    const auto hides_all = [&](auto hides) {
      for (int64_t i = 0; i < n; ++i)
        if (!hides(r * row_stride_ + i * column_stride_)) return false;
      return true;
    };
    if (dtype_ == DType::boolean) return hides_all([&](int64_t at) { return !as<bool>(mask_)[at]; });
    bool all = false;
    visit_type<C>(dtype_, [&]<class T>() {
      all = hides_all([&](int64_t at) { return C(as<T>(mask_)[at]) == kMinusInfinity<C>; });
    });
    return all;
  }

 private:
  const char* mask_;
  DType dtype_;
  int64_t row_stride_, column_stride_;
};
/// Dropout of attention weights. The weight of query q and key k of matrix m is number (m L + q) S + k of a draw.
/// Scalars: probability of keeping a weight, number of the block's first weight, and S.
template <class C> struct Dropout {
  Dropout(const Loop& loop, int operand, int scalar)
      : state(data<const uint64_t>(loop, operand)),
        keep(float(loop.scalars[scalar].real)),
        scale(C(1 / loop.scalars[scalar].real)),
        first(loop.scalars[scalar + 1].integer),
        row(loop.scalars[scalar + 2].integer) {}
  explicit operator bool() const { return state; }
  /// Calls f(begin, count, words) for parts of the first n weights of row r. Weight begin + i is kept if
  /// uniform_float(words[i]) < keep.
  template <class F> void for_words(int64_t r, int64_t n, F f) const {
    const int64_t begin = first + r * row;
    for_random_words<1>(state, 0, begin, begin + n,
                        [&](int64_t at, int64_t count, const uint32_t* words) { f(at - begin, count, words); });
  }

  const uint64_t* state;  // Philox's {seed, stream, block}; null if there is no dropout
  float keep;
  C scale;  // factor of kept weights
  int64_t first, row;
};
/// Applies dropout to the n weights x of row r.
template <class C> TANDEM_NOINLINE void drop_weights(const Dropout<C>& dropout, C* x, int64_t r, int64_t n) {
  dropout.for_words(
      r, n, [x, keep = dropout.keep, scale = dropout.scale](int64_t begin, int64_t count, const uint32_t* words) {
        C* const from = x + begin;
        const float limit = keep;  // local copies, because x might alias captured variables
        const C factor = scale;
        TANDEM_IVDEP
        for (int64_t i = 0; i < count; ++i) from[i] = uniform_float(words[i]) < limit ? from[i] * factor : C(0);
      });
}
/// Replaces each of the n elements x by e^(x - peak). @return the sum of the results
template <class C> TANDEM_NOINLINE C exp_and_sum(C* x, int64_t n, C peak) {
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] = math::exp_of_negative(x[i] - peak);
  return lane_sum<C>(n, [=](int64_t i) { return x[i]; });
}
int64_t num_visible_keys(const Loop& loop, int64_t row) {
  const int64_t columns = loop.scalars[0].integer, seen = loop.scalars[1].integer + row;
  return seen < 0 ? 0 : seen < columns ? seen : columns;
}

/// Replaces a block of scores by powers e^(score - peak), where peak is the largest score of the query so far (online
/// softmax), and applies dropout to the powers. Operands: scores; peaks so far and sums of powers so far, one of each
/// per query; out so far, which is scaled down when a peak rises; mask; random state. Scalars 6 to 11: whether this is
/// the first block of keys, columns of out, row stride of out, and the scalars of Dropout.
template <class C> void attention_exps_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t columns = number(0), width = number(7), out_stride = number(8);
  const C scale = C(loop.scalars[2].real);
  const bool first = number(6);
  const Mask<C> mask(loop, 4, 3);
  const Dropout<C> dropout(loop, 5, 9);
  C *const peaks = data<C>(loop, 1), *const sums = data<C>(loop, 2);
  for (int64_t r = begin; r < end; ++r) {
    C* const x = data<C>(loop, 0) + r * columns;
    const int64_t n = num_visible_keys(loop, r);
    mask.apply(x, r, n, scale);
    const C found = reduce_lanes<NanIgnoringMax>(x, n), before = first ? kMinusInfinity<C> : peaks[r],
            peak = found > before ? found : before;
    // if the mask hides all keys so far, subtracting 0 (not -infinity) makes all powers 0
    const C base = peak == kMinusInfinity<C> ? C(0) : peak;
    const C sum = exp_and_sum(x, n, base);  // of all weights, because dropout follows softmax
    if (dropout) drop_weights(dropout, x, r, n);
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
/// Divides the operand `out` by the sums of powers, and writes lse. Operands: peaks, sums of powers, out, lse, mask of
/// whole rows. Scalar 0: number of keys. Scalars 3 to 5: the mask's dtype, and its row and column strides.
/// Scalars 6 and 7: columns and row stride of out.
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
/// Returns the weight of a key with score x. Inlined, because loops that call it have to be vectorized.
template <class C> TANDEM_HD C weight_of(C x, C lse) {
  const C below = x - lse;
  return math::exp_of_negative(below > C(0) ? C(0) : below);  // `below` exceeds 0 only by rounding
}
/// Like the loop in attention_gradients_body(), but with dropout: dx is the gradient of the weights after dropout.
template <class C>
TANDEM_NOINLINE void gradients_with_dropout(const Dropout<C>& dropout, C* x, C* dx, int64_t r, int64_t n, C lse, C mean,
                                            C scale) {
  dropout.for_words(
      r, n, [=, keep = dropout.keep, kept_scale = dropout.scale](int64_t begin, int64_t count, const uint32_t* words) {
        C *const weights = x + begin, *const gradients = dx + begin;
        const float limit = keep;  // local copies, because x and dx might alias captured variables
        const C factor = kept_scale, log_sum = lse, average = mean, outer = scale;
        TANDEM_IVDEP
        for (int64_t i = 0; i < count; ++i) {
          const bool kept = uniform_float(words[i]) < limit;
          const C weight = weight_of(weights[i], log_sum), gradient = gradients[i] * factor, scaled = weight * factor;
          weights[i] = kept ? scaled : C(0);
          gradients[i] = weight * ((kept ? gradient : C(0)) - average) * outer;
        }
      });
}
/// Computes the weights of a block, and the gradients of its scores. Operands: scores, which are replaced by the
/// weights after dropout; gradients of these weights, which are replaced by the gradients of the products q k^T; lse,
/// out, dout, mask, random state. Scalars 6 to 11: columns of out and dout, row stride of out, row stride of dout, and
/// the scalars of Dropout.
template <class C> void attention_gradients_body(const Loop& loop, int64_t begin, int64_t end) {
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const int64_t columns = number(0), width = number(6), out_stride = number(7), dout_stride = number(8);
  const C scale = C(loop.scalars[2].real);
  const Mask<C> mask(loop, 5, 3);
  const Dropout<C> dropout(loop, 6, 9);
  for (int64_t r = begin; r < end; ++r) {
    C *const x = data<C>(loop, 0) + r * columns, *const dx = data<C>(loop, 1) + r * columns;
    const C *const out = data<C>(loop, 3) + r * out_stride, *const dout = data<C>(loop, 4) + r * dout_stride;
    const int64_t n = num_visible_keys(loop, r);
    const C lse = data<const C>(loop, 2)[r], mean = lane_sum<C>(width, [=](int64_t i) { return out[i] * dout[i]; });
    mask.apply(x, r, n, scale);
    if (dropout) {
      gradients_with_dropout(dropout, x, dx, r, n, lse, mean, scale);
    } else {
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const C weight = weight_of(x[i], lse);
        x[i] = weight;
        dx[i] = weight * (dx[i] - mean) * scale;
      }
    }
    for (int64_t i = n; i < columns; ++i) x[i] = dx[i] = C(0);
  }
}
/// Converts rows from a half type to float. Operands: floats, which are contiguous, and rows. Scalars: number of
/// columns, and distance of the rows. attention_narrow converts floats back; its operands are in the opposite order.
void attention_widen_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t columns = loop.scalars[0].integer, stride = loop.scalars[1].integer;
  widen(loop.dtype, data<const char>(loop, 1) + begin * stride * 2, data<float>(loop, 0) + begin * columns, columns,
        end - begin, stride);
}
void attention_narrow_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t columns = loop.scalars[0].integer, stride = loop.scalars[1].integer;
  narrow(loop.dtype, data<const float>(loop, 1) + begin * columns, data<char>(loop, 0) + begin * stride * 2, columns,
         end - begin, stride);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_DISPATCH_TABLE(attention_exps, attention_exps_body<float>, attention_exps_body<double>)
TANDEM_DISPATCH_TABLE(attention_finish, attention_finish_body<float>, attention_finish_body<double>)
TANDEM_DISPATCH_TABLE(attention_gradients, attention_gradients_body<float>, attention_gradients_body<double>)
TANDEM_DISPATCH_TABLE(attention_widen, nullptr, nullptr, attention_widen_body, attention_widen_body)
TANDEM_DISPATCH_TABLE(attention_narrow, nullptr, nullptr, attention_narrow_body, attention_narrow_body)
