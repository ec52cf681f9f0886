// Plans the CPU loops of convolutions. The images are divided into blocks, by shape alone. Each block is computed in
// one thread by one call of a ConvBlock, which a library or Tandem implements.
#include "tandem/kernels/cpu/convolution.h"

#include <algorithm>

#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {
namespace {

ConvProblem make_problem(ConvPass pass, const Tensor& x, const Tensor& w, const Tensor& y, const ConvShape& s,
                         bool has_bias) {
  return {pass, x.size(0), x.size(1), {x.size(2), x.size(3)}, y.size(1), {y.size(2), y.size(3)}, {w.size(2), w.size(3)},
          s,    has_bias};
}

/// Returns the number of images in one block: enough work to outweigh the overhead of a call (or 1/64 of the images, if
/// that is more), and few enough that a block stays in a core's cache. The result divides the number of images, so that
/// all blocks are equal and one ConvBlock serves them all.
int64_t images_per_block(const ConvProblem& p) {
  // Number of operations that a block should have, which take about 0.1 ms. Blocks of backward_weight are larger,
  // because each block writes a gradient of the weights, and these gradients have to be added up.
  const double worth = p.pass == ConvPass::backward_weight ? 2e7 : 1e7;
  constexpr int64_t kCached = int64_t(1) << 18;  // number of elements that fit into the cache: 1 MiB of float32
  int64_t wanted = std::max(static_cast<int64_t>(worth / std::max(p.flops_per_image(), 1.0)) + 1, p.images / 64);
  wanted =
      std::min(wanted, std::max<int64_t>(kCached / std::max<int64_t>(p.x_image_numel() + p.y_image_numel(), 1), 1));
  wanted = std::clamp<int64_t>(wanted, 1, p.images);
  while (p.images % wanted != 0) --wanted;
  return wanted;
}

bool is_channels_last(const ConvProblem& p) { return p.shape.channels_last; }
bool is_row_major(const ConvProblem& p) { return !p.shape.channels_last; }
/// Returns whether to compute the gradient of the weights from bfloat16 patches (im2row). With fewer than 16 channels
/// per group, gathering the patches takes longer than computing in float.
bool prefers_bfloat16_im2row(const ConvProblem& p) {
  return p.pass == ConvPass::backward_weight && p.shape.channels_last && onednn_supports_bfloat16() &&
         p.channels / p.shape.groups >= 16;
}
template <class T> ConvBlockPtr<T> make_widening_block(const ConvProblem& problem);

template <class T>
constexpr ConvImplementation<T> kConvImplementations[] = {
    // for double
    {"patches as rows", is_channels_last, im2row_block<T>},
    {"patches as columns", is_row_major, im2col_block<T>},
};
template <>
constexpr ConvImplementation<float> kConvImplementations<float>[] = {
    {"few channels, row-major", conv_taps_supports, conv_taps_block},
    {"few channels, channels-last", conv_few_channels_supports, conv_few_channels_block},
    {"many channels, channels-last", conv_many_channels_supports, conv_many_channels_block},
    {"oneDNN", onednn_supports<float>, onednn_block<float>},
    {"patches as rows", is_channels_last, im2row_block<float>},
    {"patches as columns", is_row_major, im2col_block<float>},
};
template <>
constexpr ConvImplementation<Half> kConvImplementations<Half>[] = {
    {"widened to float", supports_every_problem, make_widening_block<Half>}};
template <>
constexpr ConvImplementation<BFloat16> kConvImplementations<BFloat16>[] = {
    {"oneDNN", onednn_supports<BFloat16>, onednn_block<BFloat16>},
    {"patches as rows", prefers_bfloat16_im2row, im2row_block<BFloat16>},
    {"widened to float", supports_every_problem, make_widening_block<BFloat16>},
};

template <class T> ConvBlockPtr<T> make_block(const ConvProblem& problem) {
  return run_first_supported<kConvImplementations<T>>(problem);
}
template <class T> ConvBlockPtr<T> make_widening_block(const ConvProblem& problem) {
  return widening_block<T>(problem, make_block<float>(problem));
}

template <class T> Tensor allocate_packed_weights(const ConvBlockPtr<T>& block, int64_t count, const Tensor& w) {
  return core::empty({count * block->packed_weight_numel()}, dtype_of<OpMath<T>>(), w.device());
}

/// A ConvBlock (one pass over a block of images), the strides in elements of x and of y between blocks of images, and
/// the indices of x and y among the loop's operands.
template <class T> struct Blocks {
  ConvBlockPtr<T> block;
  int64_t x_block_stride, y_block_stride;
  int x_operand, y_operand;

  T* x(const Loop& loop, int64_t i) const { return data<T>(loop, x_operand) + i * x_block_stride; }
  T* y(const Loop& loop, int64_t i) const { return data<T>(loop, y_operand) + i * y_block_stride; }
};

/// Computes forward or backward_input. Each block writes its own images of y or dx.
template <class T>
void run_blocks(const char* name, ConvProblem p, const Tensor& w, const Tensor& bias, const Tensor& read,
                Tensor& written) {
  const int64_t images = p.images;
  p.images = images_per_block(p);
  const ConvBlockPtr<T> block = make_block<T>(p);
  const Tensor packed = allocate_packed_weights(block, 1, w);
  const auto pack = [](const ConvBlockPtr<T>& b, const Loop& loop, int64_t, int64_t) {
    b->pack(data<T>(loop, 1), data<OpMath<T>>(loop, 0), loop_scratch());
  };
  run(plan_call("conv2d_pack", w.dtype(), {packed}, {w}, block, pack, 1, 1, block->pack_scratch_bytes()));
  const bool forward = p.pass == ConvPass::forward;
  const Blocks<T> blocks{block, p.images * p.x_image_numel(), p.images * p.y_image_numel(), forward ? 1 : 0,
                         forward ? 0 : 1};
  const auto each = [](const Blocks<T>& b, const Loop& loop, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      b.block->run(b.x(loop, i), data<OpMath<T>>(loop, 2), data<T>(loop, 3), b.y(loop, i), loop_scratch());
  };
  run(plan_call(name, w.dtype(), {written}, {read, packed, bias}, blocks, each, images / p.images, 1,
                block->scratch_bytes()));
}

}  // namespace

template <class T> std::span<const ConvImplementation<T>> conv_implementations() { return kConvImplementations<T>; }
template std::span<const ConvImplementation<float>> conv_implementations();
template std::span<const ConvImplementation<double>> conv_implementations();
template std::span<const ConvImplementation<Half>> conv_implementations();
template std::span<const ConvImplementation<BFloat16>> conv_implementations();

void conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& s, Tensor& y) {
  if (y.numel() == 0) return;
  if (x.numel() == 0) {  // x has no elements, so y is the bias, or 0 without a bias
    if (!bias.defined()) return fill(0, y);
    return copy(core::expand(core::try_view(bias, {bias.numel(), 1, 1}), y.sizes()), y);
  }
  visit_floating("conv2d", x.dtype(), [&]<class T>() {
    run_blocks<T>("conv2d", make_problem(ConvPass::forward, x, w, y, s, bias.defined()), w, bias, x, y);
  });
}
void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& s, Tensor& dx) {
  if (dx.numel() == 0) return;
  if (dy.numel() == 0) return fill(0, dx);
  visit_floating("conv2d_backward_input", dx.dtype(), [&]<class T>() {
    run_blocks<T>("conv2d_backward_input", make_problem(ConvPass::backward_input, dx, w, dy, s, false), w, Tensor(), dy,
                  dx);
  });
}

void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& s, Tensor& dw) {
  Tensor no_bias;
  conv2d_backward_weight_and_bias(dy, x, s, dw, no_bias);
}
void conv2d_backward_weight_and_bias(const Tensor& dy, const Tensor& x, const ConvShape& s, Tensor& dw, Tensor& db) {
  const auto sum_pixels = [&] {  // computes db, the gradient of the bias, from a channels-last dy
    const int64_t filters = dy.size(1), pixels = filters == 0 ? 0 : dy.numel() / filters;
    Tensor to = core::try_view(db, {1, filters});
    sum(core::as_strided(dy, {1, pixels, filters}, {0, filters, 1}, dy.storage_offset()), to);
  };
  if (dw.numel() == 0 || x.numel() == 0 || dy.numel() == 0) {
    if (dw.numel() > 0) fill(0, dw);
    return db.defined() ? sum_pixels() : void();
  }
  ConvProblem p = make_problem(ConvPass::backward_weight, x, dw, dy, s, db.defined());
  const int64_t images = p.images;
  p.images = images_per_block(p);
  visit_floating("conv2d_backward_weight", x.dtype(), [&]<class T>() {
    using C = OpMath<T>;
    const ConvBlockPtr<T> block = make_block<T>(p);
    // The blocks are divided into at most sixteen pieces. Each piece adds the gradients of its blocks in a buffer of
    // its own, and the buffers are then added in order. The limit keeps memory small.
    const int64_t blocks = images / p.images, per_piece = (blocks + 15) / 16, pieces = (blocks - 1) / per_piece + 1;
    const Tensor partial = allocate_packed_weights(block, pieces, dw);
    struct Sum {
      Blocks<T> blocks;
      int64_t size, scratch, per_piece, pieces;
    };
    const int64_t size = block->packed_weight_numel(), scratch = (block->scratch_bytes() + 63) / 64 * 64;
    const Sum sum{
        {block, p.images * p.x_image_numel(), p.images * p.y_image_numel(), 1, 2}, size, scratch, per_piece, pieces};
    const auto add_blocks = [](const Sum& c, const Loop& loop, int64_t begin, int64_t end) {
      C* const mine = data<C>(loop, 0) + begin / c.per_piece * c.size;
      C* const next = reinterpret_cast<C*>(loop_scratch() + c.scratch);
      for (int64_t i = begin; i < end; ++i) {
        C* const to = i == begin ? mine : next;
        c.blocks.block->run(c.blocks.x(loop, i), to, nullptr, c.blocks.y(loop, i), loop_scratch());
        if (to != mine)
          for (int64_t k = 0; k < c.size; ++k) mine[k] += to[k];
      }
    };
    run(plan_call("conv2d_backward_weight", dw.dtype(), {partial}, {x, dy}, sum, add_blocks, blocks, per_piece,
                  scratch + (per_piece > 1 ? size * static_cast<int64_t>(sizeof(C)) : 0)));
    const auto add_pieces = [](const Sum& c, const Loop& loop, int64_t begin, int64_t end) {
      C* const total = data<C>(loop, 0);
      for (int64_t k = 1; k < c.pieces; ++k)
        for (int64_t i = begin; i < end; ++i) total[i] += total[k * c.size + i];
    };
    run(plan_call("conv2d_add_pieces", dw.dtype(), {partial}, {partial}, sum, add_pieces, size, 4096));
    const auto unpack = [](const ConvBlockPtr<T>& b, const Loop& loop, int64_t, int64_t) {
      b->unpack(data<C>(loop, 1), data<T>(loop, 0), loop_scratch());
    };
    run(plan_call("conv2d_unpack", dw.dtype(), {dw}, {partial}, block, unpack, 1, 1, block->pack_scratch_bytes()));
    if (!db.defined()) return;
    if (!block->computes_bias_gradient()) return sum_pixels();
    const auto last = [](const int64_t& size, const Loop& loop, int64_t begin, int64_t end) {
      const C* const from = data<C>(loop, 1) + size;
      for (int64_t i = begin; i < end; ++i) data<T>(loop, 0)[i] = static_cast<T>(from[i]);
    };
    run(plan_call("conv2d_unpack", db.dtype(), {db}, {partial}, size - db.numel(), last, db.numel(), 4096));
  });
}

}  // namespace tandem::kernels::cpu
