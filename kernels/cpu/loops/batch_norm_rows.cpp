// Loops of batch normalisation of matrices (rows, C): batches of vectors, or channels-last images, whose rows are
// pixels. A vector register holds neighbouring channels. Each channel is summed as in channel_sums (norm.cpp): in
// sixteen lanes, which are added to a double after every kBlockLength rows. Here each block of kBlockLength rows is a
// unit of work of its own.
#include "tandem/kernels/cpu/loops/batch_norm_rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

// The following functions loop over n rows of `width` channels; rows are `stride` elements apart. The functions are
// short enough to be compiled for each type.

/// Computes totals[c] = sum of f(i, c) over the rows. Adds up all kLanes lanes, even if n is smaller.
template <class C, class F> void block_sums(int64_t n, int64_t width, double* totals, F f) {
  ColumnLanes<C> lanes;
  lanes.add(0, n, width, f);
  C sums[kColumnGroup];
  lanes.fold(kLanes, width, sums);
  for (int64_t c = 0; c < width; ++c) totals[c] = double(sums[c]);
}
/// Computes for each channel the sum of x, and the sum of squared deviations from the mean of these rows. The second
/// pass over the rows finds them in the cache.
template <class T, class C>
TANDEM_NOINLINE void block_stats(const T* x, int64_t n, int64_t stride, int64_t width, double* totals,
                                 double* squares) {
  block_sums<C>(n, width, totals, [=](int64_t i, int64_t c) { return C(x[i * stride + c]); });
  C center[kColumnGroup];
  for (int64_t c = 0; c < width; ++c) {
    TANDEM_NO_VECTORIZE
    center[c] = C(totals[c] / double(n));
  }
  block_sums<C>(n, width, squares, [&](int64_t i, int64_t c) {
    const C off = C(x[i * stride + c]) - center[c];
    return off * off;
  });
  bool again = false;
  for (int64_t c = 0; c < width; ++c) again |= needs_double_precision<C>(squares[c]);
  if (!again) return;
  double wide[kColumnGroup];
  block_sums<double>(n, width, wide, [&](int64_t i, int64_t c) {
    const C off = C(x[i * stride + c]) - center[c];
    return double(off) * double(off);
  });
  for (int64_t c = 0; c < width; ++c)
    if (needs_double_precision<C>(squares[c])) squares[c] = wide[c];
}
/// Computes for each channel the sums of dy and of dy (x - mean).
template <class T, class C>
TANDEM_NOINLINE void gradient_sums(const T* dy, const T* x, int64_t n, int64_t stride, int64_t width, const C* mean,
                                   double* totals, double* dot_sums) {
  block_sums<C>(n, width, totals, [=](int64_t i, int64_t c) { return C(dy[i * stride + c]); });
  block_sums<C>(n, width, dot_sums,
                [=](int64_t i, int64_t c) { return C(dy[i * stride + c]) * (C(x[i * stride + c]) - mean[c]); });
}
/// Computes y = x * scale + shift for each channel.
template <class T, class C>
TANDEM_NOINLINE void apply_scale_shift(const T* x, T* y, int64_t n, int64_t stride, int64_t width, const C* scale,
                                       const C* shift) {
  for (int64_t r = 0; r < n; ++r, x += stride, y += stride) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) y[c] = T(C(x[c]) * scale[c] + shift[c]);
  }
}
template <class T, class C>
TANDEM_NOINLINE void backward_rows(const T* dy, const T* x, T* dx, int64_t n, int64_t stride, int64_t width,
                                   const BackwardFactors<C>& s, bool training) {
  for (int64_t r = 0; r < n; ++r, dx += stride, dy += stride, x += stride) {
    if (training) {
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c)
        dx[c] = T(s.scale[c] * (C(dy[c]) - s.mean_term[c] - (C(x[c]) - s.mean[c]) * s.var_term[c]));
    } else {  // evaluation mode: dx does not depend on x, so a NaN in x must not reach dx
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) dx[c] = T(s.scale[c] * C(dy[c]));
    }
  }
}

/// Computes the sums over each block of rows. Operands: sums of x, and sums of squared deviations from the block's
/// mean, both double (blocks, channels); x.
template <class C> void stats_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  visit_type<C>(loop.dtype, [&]<class T>() {
    for_row_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
      const int64_t to = at / channels / kBlockLength * channels + c;
      block_stats<T, C>(data<const T>(loop, 2) + at, n, channels, width, data<double>(loop, 0) + to,
                        data<double>(loop, 1) + to);
    });
  });
}
/// Computes the sums over each block of rows for backward. Operands: sums of dy, and sums of dy (x - mean), both double
/// (blocks, channels); dy, x, mean.
template <class C> void gradient_sums_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  visit_type<C>(loop.dtype, [&]<class T>() {
    for_row_blocks(loop, begin, end, [&](int64_t at, int64_t n, int64_t c, int64_t width) {
      const int64_t to = at / channels / kBlockLength * channels + c;
      gradient_sums(data<const T>(loop, 2) + at, data<const T>(loop, 3) + at, n, channels, width,
                    data<const C>(loop, 4) + c, data<double>(loop, 0) + to, data<double>(loop, 1) + to);
    });
  });
}

/// Normalises rows [begin, end). Operands: y, x, mean, rstd, weight or none, bias or none.
template <class C> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_channel_groups(loop, [&](int64_t first, int64_t width) {
    const ForwardFactors<C> f(loop, 2, first, width);
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      apply_scale_shift(data<const T>(loop, 1) + at, data<T>(loop, 0) + at, end - begin, channels, width, f.scale,
                        f.shift);
    });
  });
}
/// Computes dx for rows [begin, end). Operands: dx, dy, x, mean, rstd, weight or none, sums of dy and of dy (x - mean)
/// as double (2, channels). Scalar 2: whether in training mode.
template <class C> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer;
  for_channel_groups(loop, [&](int64_t first, int64_t width) {
    const BackwardFactors<C> s(loop, 3, first, width);
    visit_type<C>(loop.dtype, [&]<class T>() {
      const int64_t at = begin * channels + first;
      backward_rows(data<const T>(loop, 1) + at, data<const T>(loop, 2) + at, data<T>(loop, 0) + at, end - begin,
                    channels, width, s, loop.scalars[2].integer != 0);
    });
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(batch_norm_row_stats, stats_body)
TANDEM_COMPUTE_TYPE_LOOP(batch_norm_row_gradient_sums, gradient_sums_body)
TANDEM_COMPUTE_TYPE_LOOP(batch_norm_apply_rows, apply_body)
TANDEM_COMPUTE_TYPE_LOOP(batch_norm_backward_rows, backward_body)
