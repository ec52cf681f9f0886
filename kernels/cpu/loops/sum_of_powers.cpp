// Sums of squares and of other powers over the middle dimension of (outer, n, inner), in double, because a square may
// overflow or underflow in float. The loops run over pairs (outer, block). Scalars: n, inner, number of blocks, block
// length and, for sum_of_powers, p. Operands: y (double), x, and a center or scale for each result, or none.
#include "tandem/kernels/cpu/loops/rows.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kChunk = 4096;  // number of elements of a row that are summed at a time

/// Computes the sums of units [begin, end), each of which is a pair (outer, block). of_row(x, n, result) returns the
/// sum over n elements of a row. add(x, n, result, results) adds n elements to n adjacent results. `result` is the
/// index of the first result that the elements belong to.
template <class C, class OfRow, class Add>
void reduce_row_units(const Loop& loop, int64_t begin, int64_t end, OfRow of_row, Add add) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer, blocks = loop.scalars[2].integer,
                length = loop.scalars[3].integer;
  const OperandElements<C> elements(loop, 1);
  double* const y = data<double>(loop, 0);
  C scratch[kChunk];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t outer = unit / blocks, first = unit % blocks * length;
    const int64_t count = n - first < length ? n - first : length, start = (outer * n + first) * inner;
    if (inner == 1) {
      double total = 0;
      for (int64_t from = 0; from < count; from += kChunk) {
        const int64_t m = count - from < kChunk ? count - from : kChunk;
        total += of_row(elements.read(start + from, m, scratch), m, outer);
      }
      y[unit] = total;
      continue;
    }
    for (int64_t c = 0; c < inner; c += kTileSize) {  // columns side by side
      const int64_t width = inner - c < kTileSize ? inner - c : kTileSize;
      double results[kTileSize] = {};
      for (int64_t r = 0; r < count; ++r)
        add(elements.read(start + r * inner + c, width, scratch), width, outer * inner + c, results);
      for (int64_t i = 0; i < width; ++i) y[unit * inner + c + i] = results[i];
    }
  }
}

/// Sums (x - center)^2. Operand 2 holds the center of each result, in double, or is undefined.
template <class C> void squares_body(const Loop& loop, int64_t begin, int64_t end) {
  const double* const centers = data<const double>(loop, 2);
  reduce_row_units<C>(
      loop, begin, end,
      [=](const C* x, int64_t n, int64_t result) {
        const double center = centers ? centers[result] : 0.0;
        return lane_sum<double>(n, [=](int64_t i) { return (double(x[i]) - center) * (double(x[i]) - center); });
      },
      [=](const C* x, int64_t n, int64_t result, double* results) {
        if (centers)
          for (int64_t i = 0; i < n; ++i)
            results[i] += (double(x[i]) - centers[result + i]) * (double(x[i]) - centers[result + i]);
        else
          for (int64_t i = 0; i < n; ++i) results[i] += double(x[i]) * double(x[i]);
      });
}
/// Computes results[i] = (|x[i]| / scale[i])^p[i] for at most kTileSize elements. scale and p are arrays, too, so that
/// the loop is vectorised.
template <class C> TANDEM_NOINLINE void scaled_powers(const C* x, const C* scale, const C* p, C* results, int64_t n) {
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) results[i] = math::pow(math::abs(x[i]) / scale[i], p[i]);
}
/// Sums (|x| / scale)^p. Operand 2 holds the scale of each result. Powers are computed in the type of x, and their sum
/// in double.
template <class C> void powers_body(const Loop& loop, int64_t begin, int64_t end) {
  const C* const scales = data<const C>(loop, 2);
  C p[kTileSize], scale[kTileSize], powers[kChunk];
  for (C& each : p) each = C(loop.scalars[4].real);
  reduce_row_units<C>(
      loop, begin, end,
      [&](const C* x, int64_t n, int64_t result) {
        for (C& each : scale) each = scales[result];
        for (int64_t i = 0; i < n; i += kTileSize)
          scaled_powers(x + i, scale, p, powers + i, n - i < kTileSize ? n - i : kTileSize);
        return lane_sum<double>(n, [&](int64_t i) { return double(powers[i]); });
      },
      [&](const C* x, int64_t n, int64_t result, double* results) {
        scaled_powers(x, scales + result, p, powers, n);
        for (int64_t i = 0; i < n; ++i) results[i] += double(powers[i]);
      });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(sum_of_squares_about, squares_body)
TANDEM_COMPUTE_TYPE_LOOP(sum_of_powers, powers_body)
