// Convolutions of channels-last images by im2row: the patch of each output pixel is a row of a matrix, which is
// multiplied by the weights. The channels of a pixel are adjacent in the row, as in the image.
#include <algorithm>
#include <cstring>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/gemm.h"

namespace tandem::kernels::cpu {
namespace {

template <class T> class Im2rowBlock final : public ConvBlock<T> {
 public:
  using Packed = typename ConvBlock<T>::Packed;

  explicit Im2rowBlock(const ConvProblem& p)
      : p_(p),
        channels_(p.channels / p.shape.groups),
        filters_(p.out_channels / p.shape.groups),
        pixels_(p.out_size[0] * p.out_size[1]),
        taps_(channels_ * p.kernel[0] * p.kernel[1]) {
    const ConvShape& s = p.shape;
    is_identity_ =
        p.kernel[0] * p.kernel[1] == 1 && s.stride[0] == 1 && s.stride[1] == 1 && !s.padding[0] && !s.padding[1];
  }
  int64_t packed_weight_numel() const override { return p_.weight_numel(); }
  int64_t scratch_bytes() const override {
    const int64_t images = p_.pass == ConvPass::backward_weight ? p_.images : 1;
    return is_identity_ ? 0 : images * pixels_ * taps_ * static_cast<int64_t>(sizeof(T));
  }
  // pack() and unpack() only copy, because channels-last weights already have the layout of the weight matrix.
  void pack(const T* w, Packed* packed, char*) const override { std::copy(w, w + p_.weight_numel(), packed); }
  void unpack(const Packed* packed, T* dw, char*) const override { std::copy(packed, packed + p_.weight_numel(), dw); }

  void run(T* x, Packed* packed, const T* bias, T* y, char* scratch) const override {
    if (p_.pass == ConvPass::backward_weight)
      accumulate_weight_gradient(x, packed, y, reinterpret_cast<T*>(scratch));
    else if constexpr (std::is_same_v<T, Packed>)
      run_images(x, packed, bias, y, scratch);
  }

 private:
  /// Computes dw: multiplies dy by the patches of all images of the block, in one product per group.
  void accumulate_weight_gradient(const T* x, Packed* dw, const T* dy, T* scratch) const {
    for (int64_t g = 0; g < p_.shape.groups; ++g) {
      if (!is_identity_)
        for (int64_t i = 0; i < p_.images; ++i)
          gather(x + i * p_.x_image_numel() + g * channels_, scratch + i * pixels_ * taps_);
      const Gemm product{
          true, false, false, filters_, taps_, p_.images * pixels_, p_.out_channels, is_identity_ ? p_.channels : taps_,
          taps_};
      const T* const patches = is_identity_ ? x + g * channels_ : scratch;
      multiply(product, dy + g * filters_, patches, dw + g * filters_ * taps_);
    }
  }
  static void multiply(const Gemm& g, const T* a, const T* b, Packed* c) {
    if constexpr (std::is_same_v<T, Packed>)
      gemm(g, a, b, c);
    else
      onednn_gemm(g, a, b, c);
  }
  void run_images(T* x, T* packed, const T* bias, T* y, char* scratch) const {
    for (int64_t i = 0; i < p_.images; ++i, x += p_.x_image_numel(), y += p_.y_image_numel()) {
      if (p_.pass == ConvPass::backward_input && !is_identity_) std::fill(x, x + p_.x_image_numel(), T(0));
      for (int64_t g = 0; g < p_.shape.groups; ++g) {
        T* const image = x + g * channels_;
        T* const w = packed + g * filters_ * taps_;
        T* const to = y + g * filters_;
        T* const patches = is_identity_ ? image : reinterpret_cast<T*>(scratch);
        const int64_t row = is_identity_ ? p_.channels : taps_;  // row stride of the matrix of patches, in elements
        if (p_.pass == ConvPass::backward_input) {
          gemm({false, false, false, pixels_, taps_, filters_, p_.out_channels, taps_, row}, to, w, patches);
          if (!is_identity_) scatter_add(patches, image);
          continue;
        }
        if (!is_identity_) gather(image, patches);
        if (bias)
          for (int64_t k = 0; k < pixels_; ++k)
            std::copy(bias + g * filters_, bias + (g + 1) * filters_, to + k * p_.out_channels);
        gemm({false, true, bias != nullptr, pixels_, filters_, taps_, row, taps_, p_.out_channels}, patches, w, to);
      }
    }
  }
  void gather(const T* image, T* patches) const {
    visit_patches([&](int64_t pixel) {
      if (pixel < 0)
        std::fill(patches, patches + channels_, T(0));
      else
        std::memcpy(patches, image + pixel * p_.channels, static_cast<size_t>(channels_) * sizeof(T));
      patches += channels_;
    });
  }
  void scatter_add(const T* patches, T* image) const {
    visit_patches([&](int64_t pixel) {
      T* const to = image + pixel * p_.channels;
      for (int64_t c = 0; pixel >= 0 && c < channels_; ++c) to[c] += patches[c];
      patches += channels_;
    });
  }
  /// For each output pixel and each kernel position, calls visit(index): the index of the input pixel, or -1 if the
  /// pixel is outside the image.
  template <class Visit> void visit_patches(Visit visit) const {
    const ConvShape& s = p_.shape;
    for (int64_t oh = 0; oh < p_.out_size[0]; ++oh)
      for (int64_t ow = 0; ow < p_.out_size[1]; ++ow)
        for (int64_t kh = 0; kh < p_.kernel[0]; ++kh) {
          const int64_t h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
          for (int64_t kw = 0; kw < p_.kernel[1]; ++kw) {
            const int64_t w = ow * s.stride[1] - s.padding[1] + kw * s.dilation[1];
            visit(h >= 0 && h < p_.size[0] && w >= 0 && w < p_.size[1] ? h * p_.size[1] + w : -1);
          }
        }
  }

  ConvProblem p_;
  int64_t channels_, filters_;  // per group
  int64_t pixels_, taps_;       // numbers of rows and columns of the matrix of patches
  bool is_identity_;            // whether the image is its own matrix of patches: 1 x 1 kernel, stride 1, no padding
};

}  // namespace

template <class T> ConvBlockPtr<T> im2row_block(const ConvProblem& problem) {
  return std::make_shared<Im2rowBlock<T>>(problem);
}
template ConvBlockPtr<float> im2row_block(const ConvProblem& problem);
template ConvBlockPtr<double> im2row_block(const ConvProblem& problem);
template ConvBlockPtr<BFloat16> im2row_block(const ConvProblem& problem);

}  // namespace tandem::kernels::cpu
