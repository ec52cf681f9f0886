// Loops of batch normalisation of planes (N, C, L), and of layer normalisation. Scalars 0 to 2 of the batch-norm loops:
// N, C, and L > 1 (batch_norm_rows.cpp handles L = 1). For half types, statistics, weights, biases and sums over rows
// are float.
#include "tandem/kernels/cpu/loops/rows.h"
#include "tandem/kernels/functors/block_stats.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kBlockLength = 2048;

/// Walks the elements of channel c plane by plane, in blocks of about kBlockLength elements. Each block is summed in
/// float before its sum is added to a double. The blocks depend on the shape alone.
class ChannelBlocks {
 public:
  ChannelBlocks(const Loop& loop, int64_t c)
      : images_(loop.scalars[0].integer), channels_(loop.scalars[1].integer), length_(loop.scalars[2].integer), c_(c) {}
  /// Calls f(offset, count) for each contiguous piece of the next block.
  /// @return number of elements in the block; 0 after the last block
  template <class F> int64_t next(F f) {
    int64_t held = 0;
    while (n_ < images_ && held < kBlockLength) {
      const int64_t count = length_ - position_in_plane_ < kBlockLength ? length_ - position_in_plane_ : kBlockLength;
      f((n_ * channels_ + c_) * length_ + position_in_plane_, count);
      held += count;
      position_in_plane_ += count;
      if (position_in_plane_ == length_) {
        position_in_plane_ = 0;
        ++n_;
      }
    }
    return held;
  }

 private:
  int64_t images_, channels_, length_, c_, n_ = 0, position_in_plane_ = 0;
};
/// Computes totals[s] = the sum of f_s over the elements of channel c. read(offset, count) loads a contiguous piece of
/// the channel; f_s(i) is the value for element i of the piece. Sums have sixteen lanes, which are added to a double
/// after each block.
template <class C, class Read, class... F>
void channel_sums(const Loop& loop, int64_t c, double* totals, Read read, F... f) {
  ChannelBlocks blocks(loop, c);
  for (int s = 0; s < int(sizeof...(F)); ++s) totals[s] = 0;
  Lanes<C> lanes[sizeof...(F)] = {};
  const auto add = [&](int64_t at, int64_t count) {
    read(at, count);
    int s = 0;
    (lanes[s++].add(count, f), ...);
  };
  while (blocks.next(add) > 0) {
    double* total = totals;
    for (Lanes<C>& each : lanes) {
      *total++ += double(each.fold());
      each.clear();
    }
  }
}

/// Sums (x - center)^2 over the next block in double, with the same lanes as the float sum.
template <class C>
TANDEM_NOINLINE double sum_of_squares_in_double(ChannelBlocks block, const OperandElements<C>& elements, C center,
                                                C* scratch) {
  Lanes<double> lanes = {};
  block.next([&](int64_t at, int64_t piece) {
    const C* const x = elements.read(at, piece, scratch);
    lanes.add(piece, [&](int64_t i) { return double(x[i] - center) * double(x[i] - center); });
  });
  return lanes.fold();
}
/// Computes the statistics of channels [begin, end). Operands: mean, var, rstd, x. Scalar 3: eps. A block is read a
/// second time while it is in the cache.
template <class C> void stats_body(const Loop& loop, int64_t begin, int64_t end) {
  const double count = double(loop.scalars[0].integer * loop.scalars[2].integer);
  const OperandElements<C> elements(loop, 3);
  C scratch[kBlockLength];
  for (int64_t c = begin; c < end; ++c) {
    ChannelBlocks blocks(loop, c), again = blocks;
    Lanes<C> lanes = {};
    const auto sum_of = [&](ChannelBlocks& of, auto f) {
      lanes.clear();
      const int64_t n = of.next([&](int64_t at, int64_t piece) {
        const C* const x = elements.read(at, piece, scratch);
        lanes.add(piece, [&](int64_t i) { return f(x[i]); });
      });
      return n;
    };
    double sum = 0;
    math::BlockStats stats;
    while (const int64_t n = sum_of(blocks, [](C x) { return x; })) {
      const double total = double(lanes.fold());
      const C center = C(total / double(n));
      const ChannelBlocks block = again;
      sum_of(again, [=](C x) { return (x - center) * (x - center); });
      double squares = double(lanes.fold());
      if (needs_double_precision<C>(squares)) squares = sum_of_squares_in_double(block, elements, center, scratch);
      sum += total;
      stats.add(double(n), total, squares);
    }
    const double var = stats.squares / count;
    data<C>(loop, 0)[c] = C(sum / count);
    data<C>(loop, 1)[c] = C(var);
    data<C>(loop, 2)[c] = C(1.0 / ::sqrt(var + loop.scalars[3].real));
  }
}
/// Normalises planes [begin, end), where plane = n * C + c. Operands: y, x, mean, rstd, weight or none, bias or none.
template <class C> void apply_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const OperandElements<C> result(loop, 0), elements(loop, 1);
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t c = plane % channels;
    const C scale = data<const C>(loop, 3)[c] * (weight ? weight[c] : C(1));
    const C shift = (bias ? bias[c] : C(0)) - data<const C>(loop, 2)[c] * scale;
    elements.for_chunks(length, [&](int64_t from, int64_t n) {
      const int64_t at = plane * length + from;
      C scratch[kTileSize];
      const C* const x = elements.read(at, n, scratch);
      C* const y = result.output_buffer(at, scratch);
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
      result.write(at, n, y);
    });
  }
}
/// Computes the gradients for channels [begin, end). Operands: sum_dy, sum_dy_xhat, dx, dy, x, mean, rstd, weight or
/// none. Scalar 3: whether in training mode.
template <class C> void backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t images = loop.scalars[0].integer, channels = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const bool training = loop.scalars[3].integer;
  const OperandElements<C> result(loop, 2), gradient(loop, 3), elements(loop, 4);
  const C* const weight = data<const C>(loop, 7);
  C dy_scratch[kBlockLength], x_scratch[kBlockLength];
  const C *dy, *x;
  const auto read = [&](int64_t at, int64_t n) {
    dy = gradient.read(at, n, dy_scratch);
    x = elements.read(at, n, x_scratch);
  };
  for (int64_t c = begin; c < end; ++c) {
    const C mean = data<const C>(loop, 5)[c], rstd = data<const C>(loop, 6)[c];
    double sums[2];
    channel_sums<C>(
        loop, c, sums, read, [&](int64_t i) { return dy[i]; }, [&](int64_t i) { return dy[i] * (x[i] - mean); });
    const double sum_dy = sums[0], sum_xhat = sums[1] * double(rstd);
    data<C>(loop, 0)[c] = C(sum_dy);
    data<C>(loop, 1)[c] = C(sum_xhat);
    const double count = double(images * length);
    const C scale = rstd * (weight ? weight[c] : C(1));
    const C mean_term = C(sum_dy / count), var_term = C(sum_xhat / count) * rstd;
    for (int64_t n = 0; n < images; ++n)
      elements.for_chunks(length, [&](int64_t from, int64_t piece) {
        const int64_t at = (n * channels + c) * length + from;
        read(at, piece);
        const C *const g = dy, *const v = x;
        C* const dx = result.output_buffer(at, dy_scratch);
        if (training) {
          TANDEM_IVDEP
          for (int64_t i = 0; i < piece; ++i) dx[i] = scale * (g[i] - mean_term - (v[i] - mean) * var_term);
        } else {  // evaluation mode: dx does not depend on x, so a NaN in x must not reach dx
          TANDEM_IVDEP
          for (int64_t i = 0; i < piece; ++i) dx[i] = scale * g[i];
        }
        result.write(at, piece, dx);
      });
  }
}

/// Pointers to rows of x, and to the memory for their y (which may be x), means and rstds.
template <class C> struct LayerNormRows {
  const C* x;
  C *y, *mean, *rstd;
};
/// Returns 1 / standard deviation of a row, with squares in double. Used if squares are outside the range of float.
template <class C> TANDEM_NOINLINE C rstd_in_double(const C* x, int64_t n, C mean, double eps) {
  const double squares = chunked_sum<double>(n, [=](int64_t i) { return double(x[i] - mean) * double(x[i] - mean); });
  return C(1.0 / ::sqrt(squares / double(n) + eps));
}
/// Normalises `rows` rows. kPlain: there is neither weight nor bias. This case is separate, because the compiler does
/// not vectorise a loop with pointers that may be null.
template <bool kPlain, class C>
TANDEM_NOINLINE void layer_norm_rows(const Loop& loop, const LayerNormRows<C>& at, int64_t rows) {
  const int64_t n = loop.scalars[0].integer;
  const C *const weight = data<const C>(loop, 4), *const bias = data<const C>(loop, 5);
  for (int64_t r = 0; r < rows; ++r) {
    const C* const x = at.x + r * n;
    C* const y = at.y + r * n;
    const C mean = C(chunked_sum<C>(n, [&](int64_t i) { return x[i]; })) / C(n);
    const double squares = chunked_sum<C>(n, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    const C rstd = needs_double_precision<C>(squares) ? rstd_in_double(x, n, mean, loop.scalars[1].real)
                                                      : C(1) / math::sqrt(C(squares) / C(n) + C(loop.scalars[1].real));
    at.mean[r] = mean;
    at.rstd[r] = rstd;
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (kPlain)
        y[i] = (x[i] - mean) * rstd + C(0);  // adding 0 turns -0 into 0, as adding a bias does
      else
        y[i] = (x[i] - mean) * rstd * (weight ? weight[i] : C(1)) + (bias ? bias[i] : C(0));
    }
  }
}
/// Returns the weight or bias of the rows, if there is one. Scalar `scalar` of the loop holds the dtype of the weight
/// or bias: float, or the half type of x.
OperandElements<float> row_parameter(const Loop& loop, int operand, int scalar) {
  return {loop, operand, DType(loop.scalars[scalar].integer)};
}
/// Normalises a row of a half type that is longer than a band, or has a weight or bias of a half type.
void layer_norm_long_row(const Loop& loop, RowBands<float>& x, const OperandElements<float>& result, float& mean,
                         float& rstd) {
  const double n = double(x.size());
  const OperandElements<float> weight = row_parameter(loop, 4, 2), bias = row_parameter(loop, 5, 3);
  ChunkedSum<float> sum, squares;
  x.for_each_band([&](int64_t, int64_t count, const float* v) { sum.add(count, [=](int64_t i) { return v[i]; }); });
  const float m = float(sum.total / n);
  x.for_each_band([&](int64_t, int64_t count, const float* v) {
    squares.add(count, [=](int64_t i) { return (v[i] - m) * (v[i] - m); });
  });
  if (needs_double_precision<float>(squares.total)) {
    ChunkedSum<double> wide;
    x.for_each_band([&](int64_t, int64_t count, const float* v) {
      wide.add(count, [=](int64_t i) { return double(v[i] - m) * double(v[i] - m); });
    });
    squares.total = wide.total;
  }
  const float r = float(1.0 / ::sqrt(squares.total / n + loop.scalars[1].real));
  mean = m;
  rstd = r;
  float scratch[2][kTileSize];
  for (int64_t i = 0; i < kTileSize; ++i) {
    scratch[0][i] = 1.0f;
    scratch[1][i] = 0.0f;
  }
  x.for_each_band([&](int64_t first, int64_t count, float* v) {
    for (int64_t from = 0; from < count; from += kTileSize) {
      const int64_t piece = count - from < kTileSize ? count - from : kTileSize;
      float* const y = v + from;
      const float* const w = weight ? weight.read(first + from, piece, scratch[0]) : scratch[0];
      const float* const b = bias ? bias.read(first + from, piece, scratch[1]) : scratch[1];
      TANDEM_IVDEP
      for (int64_t i = 0; i < piece; ++i) y[i] = (y[i] - m) * r * w[i] + b[i];
    }
    x.write(result, first, count, v);
  });
}
/// Normalises rows [begin, end). Operands: y, mean, rstd, x, weight or none, bias or none. Scalars: n, eps, and the
/// dtypes of weight and bias.
template <class C> void layer_norm_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer;
  const OperandElements<C> result(loop, 0), elements(loop, 3);
  const bool plain = !loop.operands[4].buffer && !loop.operands[5].buffer;
  const int64_t step = result.is_reduced_floating_point() ? 1 : end - begin;
  for (int64_t r = begin; r < end; r += step) {
    C *const mean = data<C>(loop, 1) + r, *const rstd = data<C>(loop, 2) + r;
    if constexpr (__is_same(C, float))
      if (result.is_reduced_floating_point() &&
          (n > kBandSize || row_parameter(loop, 4, 2).is_reduced_floating_point() ||
           row_parameter(loop, 5, 3).is_reduced_floating_point())) {
        RowBands<float> x(elements, r * n, n);
        layer_norm_long_row(loop, x, result, *mean, *rstd);
        continue;
      }
    Scratch<C> scratch;
    C* const y = result.output_buffer(r * n, scratch.data());
    const LayerNormRows<C> at{elements.read(r * n, n, scratch.data()), y, mean, rstd};
    plain ? layer_norm_rows<true>(loop, at, step) : layer_norm_rows<false>(loop, at, step);
    result.write(r * n, n, y);
  }
}
/// Computes dx of one row. Adds dy (x - mean) rstd to `weights` (sums for the gradient of the weight) and dy to
/// `biases` (sums for the gradient of the bias), unless they are null. kWeighted: there is a weight, so dx is computed
/// from dy times `weight`.
template <bool kWeighted, class C>
void layer_norm_backward_row(RowBands<C>& dy, RowBands<C>& x, RowBands<C>& weight, C mean, C rstd,
                             const OperandElements<C>& result, C* weights, C* biases) {
  const double n = double(x.size());
  ChunkedSum<C> sum, dot;
  dy.for_each_band([&](int64_t first, int64_t count, const C* d) {
    const C* const v = x.read(first, count);
    const C* const w = kWeighted ? weight.read(first, count) : nullptr;
    if (weights) {
      C* const to = weights + first;
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) to[i] += d[i] * ((v[i] - mean) * rstd);
    }
    if (biases) {
      C* const to = biases + first;
      TANDEM_IVDEP
      for (int64_t i = 0; i < count; ++i) to[i] += d[i];
    }
    sum.add(count, [=](int64_t i) { return kWeighted ? d[i] * w[i] : d[i]; });
    dot.add(count, [=](int64_t i) { return (kWeighted ? d[i] * w[i] : d[i]) * (v[i] - mean); });
  });
  const C a = C(sum.total / n), b = C(dot.total * double(rstd) / n) * rstd;
  dy.for_each_band([&](int64_t first, int64_t count, C* d) {
    const C* const v = x.read(first, count);
    const C* const w = kWeighted ? weight.read(first, count) : nullptr;
    C* const dx = dy.output_buffer(result, first, d);
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) dx[i] = rstd * ((kWeighted ? d[i] * w[i] : d[i]) - a - (v[i] - mean) * b);
    dy.write(result, first, count, dx);
  });
}
/// Computes the gradients for blocks [begin, end) of rows. Operands: dx; sums of dy (x - mean) rstd, one row per block,
/// or none; sums of dy, one row per block, or none; dy, x, mean, rstd, weight or none. Scalars: n, rows, rows per
/// block, and the dtype of weight.
template <class C> void layer_norm_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  const int64_t n = loop.scalars[0].integer, rows = loop.scalars[1].integer, length = loop.scalars[2].integer;
  const OperandElements<C> result(loop, 0), gradient(loop, 3), elements(loop, 4);
  const OperandElements<C> weight(loop, 7, DType(loop.scalars[3].integer));
  RowBands<C> w(weight, 0, n);  // if the weight fits into one band, it is converted to float only once
  for (int64_t block = begin; block < end; ++block) {
    C* const weights = data<C>(loop, 1) ? data<C>(loop, 1) + block * n : nullptr;
    C* const biases = data<C>(loop, 2) ? data<C>(loop, 2) + block * n : nullptr;
    for (int64_t i = 0; weights && i < n; ++i) weights[i] = C(0);
    for (int64_t i = 0; biases && i < n; ++i) biases[i] = C(0);
    const int64_t last = rows - block * length < length ? rows : (block + 1) * length;
    for (int64_t r = block * length; r < last; ++r) {
      RowBands<C> dy(gradient, r * n, n), x(elements, r * n, n);
      const C mean = data<const C>(loop, 5)[r], rstd = data<const C>(loop, 6)[r];
      if (weight)
        layer_norm_backward_row<true>(dy, x, w, mean, rstd, result, weights, biases);
      else
        layer_norm_backward_row<false>(dy, x, w, mean, rstd, result, weights, biases);
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(batch_norm_stats, stats_body)
TANDEM_COMPUTE_TYPE_LOOP(batch_norm_apply, apply_body)
TANDEM_COMPUTE_TYPE_LOOP(batch_norm_backward, backward_body)
TANDEM_COMPUTE_TYPE_LOOP(layer_norm, layer_norm_body)
TANDEM_COMPUTE_TYPE_LOOP(layer_norm_backward, layer_norm_backward_body)
