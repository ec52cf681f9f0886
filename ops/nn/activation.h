// Activations: celu, gelu, glu, hardtanh, mish, prelu, rrelu, selu, softshrink and others, with in-place versions. They
// accept floating dtypes only, unless they say otherwise.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

/// Moves x towards 0 by lambd; elements between -lambd and lambd become 0.
Tensor softshrink(const Tensor& x, const Scalar& lambd = 0.5);
/// Returns 0 where x is between -lambd and lambd, and x elsewhere.
inline Tensor hardshrink(const Tensor& x, const Scalar& lambd = 0.5) { return x.hardshrink(lambd); }
/// Returns x - tanh(x).
Tensor tanhshrink(const Tensor& x);
/// Returns gelu(x) in its exact form ("none"), or in the approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715
/// x^3))) ("tanh"). @throws Error for any other string
Tensor gelu(const Tensor& x, std::string_view approximate);
/// Returns x where x is positive, and alpha (e^(x / alpha) - 1) elsewhere.
Tensor celu(const Tensor& x, const Scalar& alpha = 1.0);
/// Returns 1.0507 elu(x, 1.6733), which preserves mean 0 and variance 1 (Klambauer et al. 2017, arXiv:1706.02515).
Tensor selu(const Tensor& x);
/// Returns x where x is above `threshold`, and `value` elsewhere. Integers are accepted too.
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value);
/// Clamps x to [min_val, max_val]. Unlike clamp, the gradient at the bounds is 0. Integers are accepted too.
Tensor hardtanh(const Tensor& x, const Scalar& min_val = -1, const Scalar& max_val = 1);
/// Clamps x to [0, 6]. Integers are accepted too.
Tensor relu6(const Tensor& x);
/// Returns relu6(x + 3) / 6.
Tensor hardsigmoid(const Tensor& x);
/// Returns x hardsigmoid(x).
Tensor hardswish(const Tensor& x);
/// Returns x tanh(softplus(x)) (Misra 2019, arXiv:1908.08681).
Tensor mish(const Tensor& x);
/// Returns ln(sigmoid(x)), computed without underflow.
Tensor log_sigmoid(const Tensor& x);
/// Returns the first half of x along dim times the sigmoid of the second half. @throws Error if the size of dim is odd
Tensor glu(const Tensor& x, int64_t dim = -1);
/// Returns x where x is positive, and weight * x elsewhere. weight has one element, or one for each channel (dimension
/// 1).
inline Tensor prelu(const Tensor& x, const Tensor& weight) { return x.prelu(weight); }
/// Returns x where x is positive, and slope * x elsewhere. In training each slope is drawn from [lower, upper);
/// otherwise the slope is (lower + upper) / 2.
Tensor rrelu(const Tensor& x, const Scalar& lower = 1.0 / 8, const Scalar& upper = 1.0 / 3,
             detail::Flag training = false);

// In-place versions: write the result into x.

Tensor& gelu_(Tensor& x, std::string_view approximate);
Tensor& leaky_relu_(Tensor& x, detail::Real negative_slope = 0.01);
Tensor& elu_(Tensor& x, detail::Real alpha = 1.0);
Tensor& elu_(Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale = 1);
Tensor& celu_(Tensor& x, const Scalar& alpha = 1.0);
Tensor& selu_(Tensor& x);
Tensor& threshold_(Tensor& x, const Scalar& threshold, const Scalar& value);
Tensor& hardtanh_(Tensor& x, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& relu6_(Tensor& x);
Tensor& hardsigmoid_(Tensor& x);
Tensor& hardswish_(Tensor& x);
Tensor& mish_(Tensor& x);
Tensor& rrelu_(Tensor& x, const Scalar& lower = 1.0 / 8, const Scalar& upper = 1.0 / 3, detail::Flag training = false);

/// Returns x where x is positive, and negative_slope * x elsewhere. The gradient at 0 is negative_slope.
Tensor leaky_relu(const Tensor& x, detail::Real negative_slope = 0.01);
/// Returns x where x is positive, and alpha (e^x - 1) elsewhere.
Tensor elu(const Tensor& x, detail::Real alpha = 1.0);
/// Returns scale max(0, x) + min(0, scale alpha (e^(input_scale x) - 1)).
Tensor elu(const Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale = 1);
/// Returns ln(1 + e^(beta x)) / beta, or x itself where beta x exceeds threshold.
Tensor softplus(const Tensor& x, detail::Real beta = 1.0, detail::Real threshold = 20.0);

// core/elementwise_ops.h says what sigmoid, relu, silu, gelu and softsign compute.
TANDEM_ACTIVATION_OPS(TANDEM_DECLARE_UNARY_OP)

}  // namespace tandem
