// Convolutions: the images are cut into blocks by shape, each block a call of a library or of our own in one thread.
#include "tandem/kernels/cpu/convolution.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/allocator.h"
#include "tandem/core/thread_pool.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
namespace {

/// Memory of one chunk, from the device's allocator.
class Scratch {
 public:
  Scratch(Device device, int64_t bytes)
      : device_(device.index()), bytes_(static_cast<size_t>(bytes)), data_(allocate(device_, bytes_)) {}
  ~Scratch() { deallocate(device_, data_, bytes_); }
  Scratch(const Scratch&) = delete;
  template <class T> T* get() const { return static_cast<T*>(data_); }

 private:
  int device_;
  size_t bytes_;
  void* data_;
};

ConvProblem problem_of(ConvPass pass, const Tensor& x, const Tensor& w, const Tensor& y, const ConvShape& s,
                       bool has_bias) {
  return {pass, x.size(0), x.size(1), {x.size(2), x.size(3)}, y.size(1), {y.size(2), y.size(3)}, {w.size(2), w.size(3)},
          s,    has_bias};
}

/// Images of one block: enough work that a call's own cost is lost in it, and few enough that a block stays in a core's
/// cache. A divisor of the images, so that one primitive serves all blocks.
int64_t images_per_block(const ConvProblem& p) {
  constexpr double kWorth = 1e7;                 // operations: about 0.1 ms
  constexpr int64_t kCached = int64_t(1) << 18;  // elements: 1 MiB of float32
  int64_t wanted = static_cast<int64_t>(kWorth / std::max(p.work(), 1.0)) + 1;
  wanted = std::min(wanted, std::max<int64_t>(kCached / std::max<int64_t>(p.x_plane() + p.y_plane(), 1), 1));
  wanted = std::clamp<int64_t>(wanted, 1, p.images);
  while (p.images % wanted != 0) --wanted;
  return wanted;
}

template <class T> std::shared_ptr<const ConvBlock<T>> block_of(const ConvProblem& problem) {
  if constexpr (std::is_same_v<T, float>)
    if (auto block = onednn_block(problem)) return block;
  return im2col_block<T>(problem);
}

/// Forward and backward to the input: every block writes images of its own.
template <class T> void run_blocks(ConvProblem p, const Tensor& x, const Tensor& w, const T* bias, const Tensor& y) {
  const int64_t images = p.images;
  if (x.numel() == 0 || y.numel() == 0) {  // no products: what is written is the bias, or zeros
    T* const to = p.pass == ConvPass::forward ? y.data<T>() : x.data<T>();
    const int64_t pixels = p.out_size[0] * p.out_size[1], count = p.pass == ConvPass::forward ? y.numel() : x.numel();
    for (int64_t i = 0; i < count; ++i) to[i] = bias ? bias[i / pixels % p.out_channels] : T(0);
    return;
  }
  p.images = images_per_block(p);
  const auto block = block_of<T>(p);
  const Scratch packed(w.device(), block->packed_weights() * static_cast<int64_t>(sizeof(T)));
  block->pack(w.data<T>(), packed.get<T>());
  parallel_for(images / p.images, 1, [&](int64_t begin, int64_t end) {
    const Scratch scratch(w.device(), block->scratch_bytes());
    for (int64_t i = begin; i < end; ++i)
      block->run(x.data<T>() + i * p.images * p.x_plane(), packed.get<T>(), bias,
                 y.data<T>() + i * p.images * p.y_plane(), scratch.get<char>());
  });
}

}  // namespace

void conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& s, Tensor& y) {
  visit_real("conv2d", x.dtype(), [&]<class T>() {
    run_blocks<T>(problem_of(ConvPass::forward, x, w, y, s, bias.defined()), x, w,
                  bias.defined() ? bias.data<T>() : nullptr, y);
  });
}
void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& s, Tensor& dx) {
  visit_real("conv2d_backward_input", dx.dtype(), [&]<class T>() {
    run_blocks<T>(problem_of(ConvPass::backward_input, dx, w, dy, s, false), dx, w, nullptr, dy);
  });
}

void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& s, Tensor& dw) {
  ConvProblem p = problem_of(ConvPass::backward_weight, x, dw, dy, s, false);
  const int64_t images = p.images;
  visit_real("conv2d_backward_weight", x.dtype(), [&]<class T>() {
    if (dw.numel() == 0) return;
    if (x.numel() == 0 || dy.numel() == 0) {
      std::memset(dw.data<T>(), 0, static_cast<size_t>(dw.nbytes()));
      return;
    }
    p.images = images_per_block(p);
    const auto block = block_of<T>(p);
    // Each piece of some blocks adds up a gradient of its own; these are added in order. Sixteen keep memory small.
    const int64_t blocks = images / p.images, per_piece = (blocks + 15) / 16, pieces = (blocks - 1) / per_piece + 1;
    const int64_t size = block->packed_weights();
    const Scratch partial(dw.device(), pieces * size * static_cast<int64_t>(sizeof(T)));
    parallel_for(blocks, per_piece, [&](int64_t begin, int64_t end) {
      const Scratch scratch(dw.device(), block->scratch_bytes());
      const Scratch next(dw.device(), end - begin > 1 ? size * static_cast<int64_t>(sizeof(T)) : 0);
      T* const mine = partial.get<T>() + begin / per_piece * size;
      for (int64_t i = begin; i < end; ++i) {
        T* const to = i == begin ? mine : next.get<T>();
        block->run(x.data<T>() + i * p.images * p.x_plane(), to, nullptr, dy.data<T>() + i * p.images * p.y_plane(),
                   scratch.get<char>());
        if (to != mine)
          for (int64_t k = 0; k < size; ++k) mine[k] += to[k];
      }
    });
    T* const total = partial.get<T>();
    parallel_for(size, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t k = 1; k < pieces; ++k)
        for (int64_t i = begin; i < end; ++i) total[i] += total[k * size + i];
    });
    block->unpack(total, dw.data<T>());
  });
}

}  // namespace tandem::kernels::cpu
