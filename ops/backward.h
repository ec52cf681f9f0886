// Gradient functions that have kernels of their own. Each is an operation and can be differentiated again. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

Tensor leaky_relu_backward(const Tensor& dy, const Tensor& x, double negative_slope);
Tensor elu_backward(const Tensor& dy, const Tensor& x, double alpha);
Tensor silu_backward(const Tensor& dy, const Tensor& x);
Tensor gelu_backward(const Tensor& dy, const Tensor& x);
/// Gradient of gelu(x, "tanh").
Tensor gelu_tanh_backward(const Tensor& dy, const Tensor& x);
Tensor softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold);
Tensor relu_backward(const Tensor& dy, const Tensor& y);
Tensor sigmoid_backward(const Tensor& dy, const Tensor& y);
Tensor tanh_backward(const Tensor& dy, const Tensor& y);
/// Gradient of softmax along dim, computed from the output y of softmax.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);
/// Gradient of clamp. A NaN bound stands for a missing bound.
Tensor clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high);

/// Returns the gradient of norm(x, p, dims): dy sign(x) |x|^(p-1) / y^(p-1), where y is the norm, computed with
/// keepdim. The gradient is 0 where y is 0. If p is below 1, it is also 0 where x is 0, because the slope is infinite
/// there. p must not be 0.
Tensor norm_backward(double p, const Tensor& dy, const Tensor& x, const Tensor& y);

/// Returns an alias of x (x itself if x requires no gradient), for the implementation of an operation that is composed
/// of other operations. PyTorch computes the gradient of such an operation with one kernel, so the gradient's graph
/// leads to all inputs. To match it, a gradient that flows back through the alias is recorded as depending on x,
/// `other` and `another`, with derivatives of zero. `other` and `another` may be undefined.
Tensor attach_inputs_to_backward(const Tensor& x, const Tensor& other = {}, const Tensor& another = {});

/// Gradients of conv2d.
Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups);
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups);

}  // namespace tandem
