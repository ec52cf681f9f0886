// Convolutions by im2col: the patches of each image are the columns of a matrix, which is multiplied by the weights.
#include <algorithm>
#include <cstring>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/gemm.h"

namespace tandem::kernels::cpu {
namespace {

/// Matrix of the patches of one group of one image. Each row is one (channel, kernel row, kernel column), each column
/// one (output row, output column).
class Patches {
 public:
  explicit Patches(const ConvProblem& p) : p_(p), channels_(p.channels / p.shape.groups) {
    const ConvShape& s = p.shape;
    is_identity_ =
        p.kernel[0] * p.kernel[1] == 1 && s.stride[0] == 1 && s.stride[1] == 1 && !s.padding[0] && !s.padding[1];
  }
  int64_t rows() const { return channels_ * p_.kernel[0] * p_.kernel[1]; }
  int64_t columns() const { return p_.out_size[0] * p_.out_size[1]; }
  int64_t image_numel() const { return channels_ * p_.size[0] * p_.size[1]; }
  /// Returns whether the image is its own matrix of patches: the kernel is 1 x 1, with stride 1 and without padding.
  bool is_identity() const { return is_identity_; }

  template <class T> void gather(const T* x, T* columns) const {
    visit_patches([&](int64_t from, int64_t low, int64_t high, int64_t step) {
      const int64_t width = p_.out_size[1];
      std::fill(columns, columns + low, T(0));
      if (step == 1 && high > low)
        std::memcpy(columns + low, x + from, static_cast<size_t>(high - low) * sizeof(T));
      else
        for (int64_t i = low; i < high; ++i) columns[i] = x[from + (i - low) * step];
      std::fill(columns + high, columns + width, T(0));
      columns += width;
    });
  }
  template <class T> void scatter_add(const T* columns, T* x) const {
    visit_patches([&](int64_t from, int64_t low, int64_t high, int64_t step) {
      for (int64_t i = low; i < high; ++i) x[from + (i - low) * step] += columns[i];
      columns += p_.out_size[1];
    });
  }

 private:
  /// Visits the elements of the patch matrix. For each row of the matrix and each output row, calls visit(from, low,
  /// high, step). Output columns [low, high) read pixels inside the image: `from` is the offset of the pixel that
  /// column `low` reads, and `step` the distance between the pixels of adjacent columns. The other columns read
  /// padding, which is zero. If the whole output row reads padding, low = high = 0.
  template <class Visit> void visit_patches(Visit visit) const {
    const ConvShape& s = p_.shape;
    const int64_t height = p_.size[0], width = p_.size[1], step = s.stride[1];
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t kh = 0; kh < p_.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < p_.kernel[1]; ++kw) {
          // input column that output column 0 reads at kernel column kw
          const int64_t shift = kw * s.dilation[1] - s.padding[1];
          const int64_t low = std::min(shift < 0 ? ceil_div(-shift, step) : 0, p_.out_size[1]);
          const int64_t high =
              std::clamp(width > shift ? ceil_div(width - shift, step) : int64_t(0), low, p_.out_size[1]);
          for (int64_t oh = 0; oh < p_.out_size[0]; ++oh) {
            const int64_t h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
            if (h >= 0 && h < height)
              visit((c * height + h) * width + low * step + shift, low, high, step);
            else
              visit(0, 0, 0, step);
          }
        }
  }

  ConvProblem p_;
  int64_t channels_;
  bool is_identity_;
};

template <class T> class Im2colBlock final : public ConvBlock<T> {
 public:
  explicit Im2colBlock(const ConvProblem& p) : p_(p), patches_(p) {}
  int64_t packed_weight_numel() const override { return p_.weight_numel(); }
  int64_t scratch_bytes() const override {
    return patches_.is_identity() ? 0 : patches_.rows() * patches_.columns() * static_cast<int64_t>(sizeof(T));
  }
  void pack(const T* w, T* packed, char*) const override { std::copy(w, w + p_.weight_numel(), packed); }
  void unpack(const T* packed, T* dw, char*) const override { std::copy(packed, packed + p_.weight_numel(), dw); }

  void run(T* x, T* packed, const T* bias, T* y, char* scratch) const override {
    const int64_t groups = p_.shape.groups, out = p_.out_channels / groups, rows = patches_.rows(),
                  columns = patches_.columns();
    for (int64_t i = 0; i < p_.images; ++i)
      for (int64_t g = 0; g < groups; ++g) {
        T* const image = x + (i * groups + g) * patches_.image_numel();
        T* const w = packed + g * out * rows;
        T* const to = y + (i * groups + g) * out * columns;
        T* const patches = patches_.is_identity() ? image : reinterpret_cast<T*>(scratch);
        if (p_.pass == ConvPass::backward_input) {
          gemm({true, false, false, rows, columns, out, rows, columns, columns}, w, to, patches);
          if (patches_.is_identity()) continue;
          std::fill(image, image + patches_.image_numel(), T(0));
          patches_.scatter_add(patches, image);
          continue;
        }
        if (!patches_.is_identity()) patches_.gather(image, patches);
        if (p_.pass == ConvPass::backward_weight) {
          gemm({false, true, i > 0, out, rows, columns, columns, columns, rows}, to, patches, w);
          continue;
        }
        if (bias)
          for (int64_t o = 0; o < out; ++o) std::fill(to + o * columns, to + (o + 1) * columns, bias[g * out + o]);
        gemm({false, false, bias != nullptr, out, columns, rows, rows, columns, columns}, w, patches, to);
      }
  }

 private:
  ConvProblem p_;
  Patches patches_;
};

}  // namespace

template <class T> ConvBlockPtr<T> im2col_block(const ConvProblem& problem) {
  return std::make_shared<Im2colBlock<T>>(problem);
}
template ConvBlockPtr<float> im2col_block(const ConvProblem& problem);
template ConvBlockPtr<double> im2col_block(const ConvProblem& problem);

}  // namespace tandem::kernels::cpu
