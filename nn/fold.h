// Patches of images: options, functional::fold and unfold, and modules. ops/nn/fold.h describes the computation.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/fold.h"

namespace tandem::nn {

struct FoldOptions {
  FoldOptions(detail::Pair output_size, detail::Pair kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  TANDEM_ARG(detail::Pair, output_size);   // (H, W) of the images
  TANDEM_ARG(detail::Pair, kernel_size);   // (H, W) of a patch
  TANDEM_ARG(detail::Pair, dilation) = 1;  // distance between neighbouring elements of a window
  TANDEM_ARG(detail::Pair, padding) = 0;   // number of zeros padded on each side of the image
  TANDEM_ARG(detail::Pair, stride) = 1;    // distance between neighbouring windows
};
struct UnfoldOptions {
  UnfoldOptions(detail::Pair kernel_size) : kernel_size_(kernel_size) {}
  UnfoldOptions(int64_t kernel_size) : kernel_size_(kernel_size) {}
  template <detail::SizeList<detail::Pair> List> UnfoldOptions(const List& kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(detail::Pair, kernel_size);   // (H, W) of a patch
  TANDEM_ARG(detail::Pair, dilation) = 1;  // distance between neighbouring elements of a window
  TANDEM_ARG(detail::Pair, padding) = 0;   // number of zeros padded on each side of the image
  TANDEM_ARG(detail::Pair, stride) = 1;    // distance between neighbouring windows
};

namespace functional {
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;

inline Tensor fold(const Tensor& x, const FoldOptions& o) {
  return col2im(x, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
inline Tensor unfold(const Tensor& x, const UnfoldOptions& o) {
  return im2col(x, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
}  // namespace functional

TANDEM_OPTION_MODULE(Unfold, UnfoldOptions, , functional::unfold(x, options));
/// Assembles images from patches and sums elements where patches overlap. Inverts Unfold if no patches overlap.
TANDEM_TWO_OPTION_MODULE(Fold, detail::Pair, detail::Pair, functional::fold(x, options));

}  // namespace tandem::nn
