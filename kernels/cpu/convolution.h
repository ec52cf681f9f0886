// Interface of the CPU implementations of convolutions, by oneDNN and by Tandem. A ConvBlock computes one pass of a
// convolution over a block of images, in the calling thread.
#pragma once
#include <span>

#include "tandem/kernels/convolution.h"
#include "tandem/kernels/implementation.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cpu {

/// Sizes and parameters of one pass of a convolution. They determine which code computes the pass.
struct ConvProblem {
  ConvPass pass;
  int64_t images, channels, size[2], out_channels, out_size[2], kernel[2];
  ConvShape shape;
  int64_t has_bias;

  int64_t x_image_numel() const { return channels * size[0] * size[1]; }  // number of elements of one image of x
  int64_t y_image_numel() const { return out_channels * out_size[0] * out_size[1]; }
  int64_t weight_numel() const { return out_channels * (channels / shape.groups) * kernel[0] * kernel[1]; }
  /// Returns the number of floating-point operations (additions and multiplications) per image.
  double flops_per_image() const { return 2.0 * static_cast<double>(weight_numel() * out_size[0] * out_size[1]); }
  auto operator<=>(const ConvProblem& other) const = default;
};

/// One pass of a convolution, prepared for blocks of problem.images images. All tensors are row-major, or all are
/// channels-last. The pass determines which tensors run() reads and writes: x or dx, y or dy, w or dw. The weights are
/// packed in the implementation's own layout, as floats for half types. Any number of threads may call run() at once.
template <class T> class ConvBlock {
 public:
  using Packed = kernels::OpMath<T>;
  virtual ~ConvBlock() = default;
  /// Returns whether backward_weight also computes the gradient of the bias, if the problem has a bias. run() then
  /// writes it after the gradient of the weights, and packed_weight_numel() includes its elements.
  virtual bool computes_bias_gradient() const { return false; }
  /// packed_weight_numel(): number of elements of the packed weights. scratch_bytes(): bytes of scratch memory that
  /// run() needs. pack_scratch_bytes(): bytes of scratch memory that pack() and unpack() need. Scratch memory is
  /// aligned to 64 bytes.
  virtual int64_t packed_weight_numel() const = 0;
  virtual int64_t scratch_bytes() const = 0;
  virtual int64_t pack_scratch_bytes() const { return 0; }
  virtual void pack(const T* w, Packed* packed, char* scratch) const = 0;
  virtual void unpack(const Packed* packed, T* dw, char* scratch) const = 0;
  /// Computes the pass for one block of images. x and y point to the block's first image. `bias` may be null; only
  /// forward reads it.
  virtual void run(T* x, Packed* packed, const T* bias, T* y, char* scratch) const = 0;
};

template <class T> using ConvBlockPtr = std::shared_ptr<const ConvBlock<T>>;

/// ConvBlocks that multiply the weights by patches, which are laid out as columns (im2col) or, for channels-last
/// images, as rows (im2row). im2row_block of bfloat16 supports backward_weight only, and needs
/// onednn_supports_bfloat16().
template <class T> ConvBlockPtr<T> im2col_block(const ConvProblem& problem);
template <class T> ConvBlockPtr<T> im2row_block(const ConvProblem& problem);
/// Tandem's loops for row-major images with few channels. They support the passes forward and backward_weight.
bool conv_taps_supports(const ConvProblem& problem);
ConvBlockPtr<float> conv_taps_block(const ConvProblem& problem);
/// Tandem's register tiles for channels-last images with few channels. They support the passes forward and
/// backward_weight.
bool conv_few_channels_supports(const ConvProblem& problem);
ConvBlockPtr<float> conv_few_channels_block(const ConvProblem& problem);
/// Tandem's register tiles for channels-last images with a multiple of 16 channels. They support all passes.
bool conv_many_channels_supports(const ConvProblem& problem);
ConvBlockPtr<float> conv_many_channels_block(const ConvProblem& problem);
/// ConvBlocks that call oneDNN. onednn_block returns null if this build has no oneDNN, or oneDNN does not support the
/// problem.
template <class T> bool onednn_supports(const ConvProblem& problem);
template <class T> ConvBlockPtr<T> onednn_block(const ConvProblem& problem);
/// Returns a ConvBlock for images of a half type. It converts each block of images to float in scratch memory, and
/// calls `block` for the float images.
template <class T> ConvBlockPtr<T> widening_block(const ConvProblem& problem, ConvBlockPtr<float> block);

template <class T> using ConvImplementation = Implementation<ConvBlockPtr<T>, ConvProblem>;
/// Returns the implementations that a convolution chooses from, in the order in which they are tried.
template <class T> std::span<const ConvImplementation<T>> conv_implementations();

}  // namespace tandem::kernels::cpu
