// Plans the CPU loops of matrix products. A product is divided into tiles by shape alone; each tile is one product in
// one thread.
#include "tandem/kernels/matmul.h"

#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {
namespace {

/// Numbers of rows and columns of one tile of a product.
struct TileSize {
  int64_t rows, columns;
};
/// Chooses the size of the tiles by the sizes alone, so that results do not depend on the number of threads. Among all
/// divisions into equally many tiles it takes the squarest tiles, because a tile reads as many lines of a and b as
/// it has rows and columns. But if b is row-major (`b_in_rows`) and its rows are short, the tiles are bands of a's
/// rows, so that b is read in place.
TileSize choose_tile_size(int64_t m, int64_t n, int64_t k, bool b_in_rows) {
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t wanted = work < 1e6 ? 1 : work < 64e6 ? 2 : work < 1e9 ? 4 : 16;
  constexpr int64_t kBand = 16, kShort = 640;
  if (b_in_rows && n <= kShort && m >= wanted * kBand) return {ceil_div(ceil_div(m, wanted), kBand) * kBand, n};
  const auto step = [](int64_t size, int64_t tile_count) {
    tile_count = std::min(tile_count, std::max<int64_t>(size / 32, 1));
    return std::max<int64_t>(ceil_div(ceil_div(size, tile_count), 16) * 16, 1);
  };
  TileSize best{step(m, 1), step(n, 1)};
  int64_t best_count = 0;
  for (int64_t by_rows = wanted; by_rows >= 1; by_rows /= 2) {
    const TileSize tile_size{step(m, by_rows), step(n, wanted / by_rows)};
    const int64_t tile_count = std::min(wanted, ceil_div(m, tile_size.rows) * ceil_div(n, tile_size.columns));
    if (tile_count < best_count ||
        (tile_count == best_count && tile_size.rows + tile_size.columns >= best.rows + best.columns))
      continue;
    best = tile_size;
    best_count = tile_count;
  }
  return best;
}

}  // namespace

TANDEM_DECLARE_LOOP(dot)
namespace {
/// Returns whether c consists of dot products of dense rows of a with one dense column of b, and either each matrix of
/// a has one row, or a is one matrix of a half type. tiled_matmul() would compute such products in one thread, or
/// pack half types as floats.
bool is_dot(const MatmulCall& call) {
  const auto& [a, b, bias, c] = call;
  const bool sums = c.size(1) == 1 || (c.size(0) == 1 && is_reduced_floating_point(c.dtype()));
  const bool dense = a.size(2) == 1 || (a.stride(2) == 1 && b.stride(1) == 1);
  return c.size(2) == 1 && sums && !bias.defined() && dense;
}
bool dot(const MatmulCall& call) {
  const Tensor &a = call.a, &b = call.b, &c = call.c;
  constexpr int64_t kBlock = 32768;
  const bool one_matrix = c.size(0) == 1;
  const int64_t rows = c.numel(), k = a.size(2), blocks = (k + kBlock - 1) / kBlock;
  const bool half = is_reduced_floating_point(c.dtype());  // sums of half types are kept in float
  Tensor partial = blocks == 1 && !half ? c : core::empty({rows, blocks, 1}, half ? kFloat32 : c.dtype(), c.device());
  run(plan_raw("dot", select_body(loops::dot, c.dtype(), "dot"), c.dtype(), {partial}, {a, b},
               {integer(k), integer(blocks), integer(kBlock), integer(a.stride(one_matrix ? 1 : 0)),
                integer(one_matrix ? 0 : b.stride(0))},
               rows * blocks, std::max<int64_t>(kBlock / k, 1)));
  if (blocks == 1 && !half) return true;
  Tensor to = core::try_view(c, {rows, 1}), total = half ? core::empty({rows, 1}, kFloat32, c.device()) : to;
  sum(partial, total);
  if (half) copy(total, to);
  return true;
}

/// A batch of products in tiles. `tile_gemm` describes the product of a tile, except for its m and n. Strides are in
/// elements.
struct TiledProduct {
  Gemm tile_gemm;
  TileSize tile_size;
  // Sizes m and n of one product, number of tiles across its columns, and number of tiles in all.
  int64_t m, n, tiles_across, num_tiles;
  int64_t a_batch_stride, a_row_stride, b_batch_stride, b_column_stride;
};
template <class T> void run_tiles(const TiledProduct& p, const Loop& loop, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t i = unit / p.num_tiles;
    const int64_t row = unit % p.num_tiles / p.tiles_across * p.tile_size.rows,
                  column = unit % p.num_tiles % p.tiles_across * p.tile_size.columns;
    Gemm g = p.tile_gemm;
    g.m = std::min(p.tile_size.rows, p.m - row);
    g.n = std::min(p.tile_size.columns, p.n - column);
    gemm(g, data<T>(loop, 1) + i * p.a_batch_stride + row * p.a_row_stride,
         data<T>(loop, 2) + i * p.b_batch_stride + column * p.b_column_stride,
         data<T>(loop, 0) + (i * p.m + row) * p.n + column);
  }
}
bool tiled_matmul(const MatmulCall& call) {
  const Tensor &a = call.a, &b = call.b, &bias = call.bias;
  Tensor& c = call.c;
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  const bool ta = a.stride(2) != 1 && k > 1 && m > 0, tb = b.stride(2) != 1 && n > 1;
  const bool accumulate = bias.defined();
  if (accumulate) copy(core::expand(bias, c.sizes()), c);
  Gemm g{ta, tb, accumulate, m, n, k, ta ? a.stride(2) : a.stride(1), tb ? b.stride(2) : b.stride(1), n};
  if (!ta && m == 1) g.lda = k;
  if (!tb && k == 1) g.ldb = n;
  const TileSize tile_size = choose_tile_size(m, n, k, !tb);
  const int64_t tiles_across = ceil_div(n, tile_size.columns), num_tiles = ceil_div(m, tile_size.rows) * tiles_across;
  const TiledProduct p{g, tile_size, m, n, tiles_across, num_tiles, a.stride(0), a.stride(1), b.stride(0), b.stride(2)};
  visit_floating("matmul", c.dtype(), [&]<class T>() {
    const auto body = [](const TiledProduct& each, const Loop& loop, int64_t begin, int64_t end) {
      run_tiles<T>(each, loop, begin, end);
    };
    if (accumulate)
      run(plan_call("matmul", c.dtype(), {c}, {a, b, c}, p, body, batch * num_tiles, 1));
    else
      run(plan_call("matmul", c.dtype(), {c}, {a, b}, p, body, batch * num_tiles, 1));
  });
  return true;
}

constexpr Implementation<bool, MatmulCall> kMatmulImplementations[] = {{"dot", is_dot, dot},
                                                                       {"tiles", supports_every_problem, tiled_matmul}};
}  // namespace

std::span<const Implementation<bool, MatmulCall>> matmul_implementations() { return kMatmulImplementations; }

void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c) {
  if (c.numel() == 0) return;
  if (a.size(2) == 0) return bias.defined() ? copy(core::expand(bias, c.sizes()), c) : fill(0, c);
  run_first_supported<kMatmulImplementations>(MatmulCall{a, b, bias, c});
}

}  // namespace tandem::kernels::cpu
