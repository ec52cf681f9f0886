// Matrix products, linear maps and convolution.
#pragma once
#include <array>

#include "tandem/core/tensor.h"

namespace tandem {

/// Products by rank, as PyTorch's: vectors dot, matrices multiply, leading dimensions broadcast as batches. Both
/// operands are of one dtype of numbers; integers wrap.
/// @throws Error unless the last dimension of a equals the second last of b
Tensor matmul(const Tensor& a, const Tensor& b);
/// (n, k) times (k, m)
Tensor mm(const Tensor& a, const Tensor& b);
/// (b, n, k) times (b, k, m)
Tensor bmm(const Tensor& a, const Tensor& b);
/// beta bias + alpha a b; bias broadcasts to (n, m)
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1);

/// y = x W^T + b; x (..., in), weight (out, in), bias (out) or undefined
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// Two numbers (height, width), or one for both.
struct Pair : std::array<int64_t, 2> {
  Pair(int64_t both) : std::array<int64_t, 2>{both, both} {}
  Pair(int64_t height, int64_t width) : std::array<int64_t, 2>{height, width} {}
  Pair(std::initializer_list<int64_t> list) : Pair(IntArrayRef(list.begin(), list.size())) {}
  Pair(IntArrayRef list) {
    TANDEM_CHECK(list.size() == 1 || list.size() == 2, "expected one number or (height, width), got ", list);
    (*this)[0] = list.front(), (*this)[1] = list.back();
  }
};

/// 2-d cross-correlation. x (N, C, H, W), weight (O, C / groups, KH, KW), bias (O) or undefined -> (N, O, OH, OW) with
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Pair stride = 1, Pair padding = 0,
              Pair dilation = 1, int64_t groups = 1);
/// Its gradients, ops themselves.
Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups);
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups);

}  // namespace tandem
