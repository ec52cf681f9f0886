// Gradients with kernels of their own. Each is an operation and can be differentiated again. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

Tensor leaky_relu_backward(const Tensor& dy, const Tensor& x, double negative_slope);
Tensor elu_backward(const Tensor& dy, const Tensor& x, double alpha);
Tensor silu_backward(const Tensor& dy, const Tensor& x);
Tensor gelu_backward(const Tensor& dy, const Tensor& x);
/// Of gelu(x, "tanh").
Tensor gelu_tanh_backward(const Tensor& dy, const Tensor& x);
Tensor softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold);
Tensor relu_backward(const Tensor& dy, const Tensor& y);
Tensor sigmoid_backward(const Tensor& dy, const Tensor& y);
Tensor tanh_backward(const Tensor& dy, const Tensor& y);
/// Of softmax along dim, from its result y.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);
/// A bound that is NaN is none.
Tensor clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high);

/// The gradient of norm(x, p, dims), where y is the norm with x's dimensions: sign(x) |x|^(p-1) / y^(p-1). It is 0
/// where y is, and, where the slope is infinite (p < 1), where x is. p is not 0.
Tensor norm_backward(double p, const Tensor& dy, const Tensor& x, const Tensor& y);

/// x as the input of an operation that is composed of others. Where x's gradient may be differentiated again, the
/// gradient gets a history that leads to x, `other` and `another`, with derivatives of zero, as in PyTorch, where one
/// kernel computes it. `other` and `another` may be undefined.
Tensor lead_gradient_to(const Tensor& x, const Tensor& other = {}, const Tensor& another = {});

/// Gradients of conv2d.
Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups);
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups);

}  // namespace tandem
