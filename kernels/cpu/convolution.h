// One pass of a convolution over a block of images in the calling thread: what the library's and our own have in
// common.
#pragma once
#include <span>

#include "tandem/kernels/convolution.h"
#include "tandem/kernels/implementation.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cpu {

/// Everything that the code for a convolution depends on.
struct ConvProblem {
  ConvPass pass;
  int64_t images, channels, size[2], out_channels, out_size[2], kernel[2];
  ConvShape shape;
  int64_t has_bias;

  int64_t x_plane() const { return channels * size[0] * size[1]; }  // elements of one image of x
  int64_t y_plane() const { return out_channels * out_size[0] * out_size[1]; }
  int64_t weights() const { return out_channels * (channels / shape.groups) * kernel[0] * kernel[1]; }
  /// Floating-point operations of one image, additions and multiplications.
  double work() const { return 2.0 * static_cast<double>(weights() * out_size[0] * out_size[1]); }
  auto operator<=>(const ConvProblem& other) const = default;
};

/// A pass prepared for blocks of problem.images images, all tensors row-major or all channels-last. What is read and
/// what is written are x or dx, y or dy, and w or dw, by the pass; the weights in a layout of its own, as floats for
/// half types. Any number of threads may run it at once.
template <class T> class ConvBlock {
 public:
  using Packed = kernels::Upcast<T>;
  virtual ~ConvBlock() = default;
  /// Whether a pass to the weights adds up the bias's gradient too, if the problem has one. It lies behind the
  /// weights', as the last of packed_weights().
  virtual bool sums_bias() const { return false; }
  /// Elements of the weights in that layout, and bytes of memory that a run and that packing need for themselves,
  /// aligned to 64.
  virtual int64_t packed_weights() const = 0;
  virtual int64_t scratch_bytes() const = 0;
  virtual int64_t pack_scratch_bytes() const { return 0; }
  virtual void pack(const T* w, Packed* packed, char* scratch) const = 0;
  virtual void unpack(const Packed* packed, T* dw, char* scratch) const = 0;
  /// Of each tensor of images the block's first; `bias` may be null, and is only for forward.
  virtual void run(T* x, Packed* packed, const T* bias, T* y, char* scratch) const = 0;
};

template <class T> using ConvBlockPtr = std::shared_ptr<const ConvBlock<T>>;

/// Multiplies the weights with patches laid out as columns, or, of channels-last images, as rows. Rows of bfloat16 are
/// for gradients of weights only, and need onednn_multiplies_bfloat16().
template <class T> ConvBlockPtr<T> im2col_block(const ConvProblem& problem);
template <class T> ConvBlockPtr<T> im2row_block(const ConvProblem& problem);
/// Tandem's loops for row-major images with few channels: forward, and gradients of weights.
bool conv_taps_serves(const ConvProblem& problem);
ConvBlockPtr<float> conv_taps_block(const ConvProblem& problem);
/// Tandem's tiles for channels-last images with few channels: forward, and gradients of weights.
bool conv_few_serves(const ConvProblem& problem);
ConvBlockPtr<float> conv_few_block(const ConvProblem& problem);
/// Tandem's tiles for channels-last images with 16, 32 ... channels: all passes.
bool conv_many_serves(const ConvProblem& problem);
ConvBlockPtr<float> conv_many_block(const ConvProblem& problem);
/// Calls oneDNN. The block is null if this build has no oneDNN, or oneDNN does not serve such a problem.
template <class T> bool onednn_serves(const ConvProblem& problem);
template <class T> ConvBlockPtr<T> onednn_block(const ConvProblem& problem);
/// Converts images of a half type to float in scratch memory, a block at a time, and calls `block`.
template <class T> ConvBlockPtr<T> widening_block(const ConvProblem& problem, ConvBlockPtr<float> block);

template <class T> using ConvImplementation = Implementation<ConvBlockPtr<T>, ConvProblem>;
/// The implementations that a convolution chooses from, in order.
template <class T> std::span<const ConvImplementation<T>> conv_implementations();

}  // namespace tandem::kernels::cpu
