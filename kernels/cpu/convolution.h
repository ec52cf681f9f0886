// One pass of a convolution over a block of images in the calling thread: what the library's and our own have in
// common.
#pragma once
#include "tandem/kernels/convolution.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cpu {

enum class ConvPass : int64_t { forward, backward_input, backward_weight };

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

/// By patches laid out as columns and a matrix product; of channels-last images as rows. Of bfloat16 as rows alone, for
/// gradients of weights where onednn_multiplies_bfloat16().
template <class T> std::shared_ptr<const ConvBlock<T>> im2col_block(const ConvProblem& problem);
template <class T> std::shared_ptr<const ConvBlock<T>> im2row_block(const ConvProblem& problem);
/// Forward and to the weights, of a plain row-major convolution of few channels; null of any other.
std::shared_ptr<const ConvBlock<float>> conv_taps_block(const ConvProblem& problem);
/// Forward and to the weights, of a channels-last convolution of few channels without dilation; null of any other.
std::shared_ptr<const ConvBlock<float>> conv_few_block(const ConvProblem& problem);
/// All passes, of a channels-last convolution of 16, 32 ... channels without dilation or padding; of a padded one with
/// larger strides its gradients; null of any other.
std::shared_ptr<const ConvBlock<float>> conv_many_block(const ConvProblem& problem);
/// By oneDNN, of float32, or of bfloat16 where the processor multiplies it itself, but for gradients of weights; null
/// when this build has none, or none for such a problem.
template <class T> std::shared_ptr<const ConvBlock<T>> onednn_block(const ConvProblem& problem);
/// Of a half type by `block` of floats: its images are widened into scratch memory, a block at a time.
template <class T>
std::shared_ptr<const ConvBlock<T>> widening_block(const ConvProblem& problem,
                                                   std::shared_ptr<const ConvBlock<float>> block);

}  // namespace tandem::kernels::cpu
