// Matrix products: cut into pieces by shape, each piece a product in one thread.
#include "tandem/kernels/matmul.h"

#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {
namespace {

/// Rows and columns of the pieces that a product is cut into.
struct Cut {
  int64_t rows, columns;
};
/// By its sizes alone, so that the calls are the same whoever runs them. Of all ways to as many pieces, the squarest: a
/// piece reads as many lines of a and b as it has rows and columns. But where rows of b lie one behind the other
/// (`b_in_rows`) and are short, bands of a's rows: b is then read where it lies.
Cut cut_of(int64_t m, int64_t n, int64_t k, bool b_in_rows) {
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t wanted = work < 1e6 ? 1 : work < 64e6 ? 2 : work < 1e9 ? 4 : 16;
  constexpr int64_t kBand = 16, kShort = 640;
  if (b_in_rows && n <= kShort && m >= wanted * kBand) return {ceil_div(ceil_div(m, wanted), kBand) * kBand, n};
  const auto step = [](int64_t size, int64_t cuts) {
    cuts = std::min(cuts, std::max<int64_t>(size / 32, 1));
    return std::max<int64_t>(ceil_div(ceil_div(size, cuts), 16) * 16, 1);
  };
  Cut best{step(m, 1), step(n, 1)};
  int64_t best_cuts = 0;
  for (int64_t by_rows = wanted; by_rows >= 1; by_rows /= 2) {
    const Cut cut{step(m, by_rows), step(n, wanted / by_rows)};
    const int64_t cuts = std::min(wanted, ceil_div(m, cut.rows) * ceil_div(n, cut.columns));
    if (cuts < best_cuts || (cuts == best_cuts && cut.rows + cut.columns >= best.rows + best.columns)) continue;
    best = cut;
    best_cuts = cuts;
  }
  return best;
}

}  // namespace

TANDEM_DECLARE_LOOP(dot)
namespace {
/// Each row of a with the column of b, both dense: sums, which a product of matrices would leave to one thread, or of a
/// half type pack as floats first. There is one row in each matrix, or one matrix.
void dot(const Tensor& a, const Tensor& b, Tensor& c) {
  constexpr int64_t kBlock = 32768;
  const bool one_matrix = c.size(0) == 1;
  const int64_t rows = c.numel(), k = a.size(2), blocks = (k + kBlock - 1) / kBlock;
  const bool half = is_half(c.dtype());  // whose sums are kept in float
  Tensor partial = blocks == 1 && !half ? c : core::empty({rows, blocks, 1}, half ? kFloat32 : c.dtype(), c.device());
  run(plan_raw("dot", pick(loops::dot, c.dtype(), "dot"), c.dtype(), {partial}, {a, b},
               {integer(k), integer(blocks), integer(kBlock), integer(a.stride(one_matrix ? 1 : 0)),
                integer(one_matrix ? 0 : b.stride(0))},
               rows * blocks, std::max<int64_t>(kBlock / k, 1)));
  if (blocks == 1 && !half) return;
  Tensor to = core::try_view(c, {rows, 1}), total = half ? core::empty({rows, 1}, kFloat32, c.device()) : to;
  sum(partial, total);
  if (half) copy(total, to);
}

/// A batch of products in pieces. `one` is that of a whole piece; the strides are in elements.
struct Pieces {
  Gemm one;
  Cut cut;
  int64_t m, n, across, pieces;  // of one product: its sizes, pieces side by side, pieces in all
  int64_t a_batch, a_row, b_batch, b_column;
};
template <class T> void run_pieces(const Pieces& p, const Loop& loop, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t i = unit / p.pieces;
    const int64_t row = unit % p.pieces / p.across * p.cut.rows, column = unit % p.pieces % p.across * p.cut.columns;
    Gemm g = p.one;
    g.m = std::min(p.cut.rows, p.m - row);
    g.n = std::min(p.cut.columns, p.n - column);
    gemm(g, data<T>(loop, 1) + i * p.a_batch + row * p.a_row, data<T>(loop, 2) + i * p.b_batch + column * p.b_column,
         data<T>(loop, 0) + (i * p.m + row) * p.n + column);
  }
}
}  // namespace

void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  const bool ta = a.stride(2) != 1 && k > 1 && m > 0, tb = b.stride(2) != 1 && n > 1;
  if (c.numel() == 0) return;
  const bool accumulate = bias.defined();
  if (accumulate) copy(core::expand(bias, c.sizes()), c);
  if (k == 0) return accumulate ? void() : fill(0, c);
  const bool sums = m == 1 || (batch == 1 && is_half(c.dtype()));
  if (n == 1 && sums && !accumulate && (k == 1 || (a.stride(2) == 1 && b.stride(1) == 1))) return dot(a, b, c);
  Gemm g{ta, tb, accumulate, m, n, k, ta ? a.stride(2) : a.stride(1), tb ? b.stride(2) : b.stride(1), n};
  if (!ta && m == 1) g.lda = k;
  if (!tb && k == 1) g.ldb = n;
  const Cut cut = cut_of(m, n, k, !tb);
  const int64_t across = ceil_div(n, cut.columns), pieces = ceil_div(m, cut.rows) * across;
  const Pieces p{g, cut, m, n, across, pieces, a.stride(0), a.stride(1), b.stride(0), b.stride(2)};
  visit_floating("matmul", c.dtype(), [&]<class T>() {
    const auto body = [](const Pieces& each, const Loop& loop, int64_t begin, int64_t end) {
      run_pieces<T>(each, loop, begin, end);
    };
    if (accumulate)
      run(plan_call("matmul", c.dtype(), {c}, {a, b, c}, p, body, batch * pieces, 1));
    else
      run(plan_call("matmul", c.dtype(), {c}, {a, b}, p, body, batch * pieces, 1));
  });
}

}  // namespace tandem::kernels::cpu
