// Activations: celu, gelu, glu, hardtanh, mish, prelu, rrelu, selu, softshrink and others, also in place. They are of
// floating-point numbers unless they say otherwise.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

/// x where it is beyond lambd on either side, moved towards 0 by lambd; 0 between
Tensor softshrink(const Tensor& x, const Scalar& lambd = 0.5);
/// x where it is beyond lambd on either side; 0 between
inline Tensor hardshrink(const Tensor& x, const Scalar& lambd = 0.5) { return x.hardshrink(lambd); }
/// x - tanh(x)
Tensor tanhshrink(const Tensor& x);
/// gelu by its exact form ("none"), or by 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) ("tanh"), of real dtypes.
/// @throws Error for any other name
Tensor gelu(const Tensor& x, std::string_view approximate);
/// x where it is above 0, else alpha (e^(x / alpha) - 1)
Tensor celu(const Tensor& x, const Scalar& alpha = 1.0);
/// 1.0507 elu(x, 1.6733), which keeps mean 0 and variance 1 (Klambauer et al. 2017, arXiv:1706.02515)
Tensor selu(const Tensor& x);
/// x where it is above `threshold`, else `value`; of integers too
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value);
/// x cut to [min, max]; flat at the bounds, where clamp is not. Of integers too
Tensor hardtanh(const Tensor& x, const Scalar& min_val = -1, const Scalar& max_val = 1);
/// x cut to [0, 6]; of integers too
Tensor relu6(const Tensor& x);
/// relu6(x + 3) / 6
Tensor hardsigmoid(const Tensor& x);
/// x hardsigmoid(x)
Tensor hardswish(const Tensor& x);
/// x tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)
Tensor mish(const Tensor& x);
/// ln(sigmoid(x)), without underflow
Tensor log_sigmoid(const Tensor& x);
/// The first half of x along dim times the sigmoid of the second. @throws Error where the size is odd
Tensor glu(const Tensor& x, int64_t dim = -1);
/// x where it is above 0, else weight x, with one weight for all or one for each channel (dimension 1)
inline Tensor prelu(const Tensor& x, const Tensor& weight) { return x.prelu(weight); }
/// x where it is above 0, else slope x: in training with slopes drawn from [lower, upper), else with their middle
Tensor rrelu(const Tensor& x, const Scalar& lower = 1.0 / 8, const Scalar& upper = 1.0 / 3,
             detail::Flag training = false);

// The same in place: x becomes the result.

Tensor& gelu_(Tensor& x, std::string_view approximate);
Tensor& leaky_relu_(Tensor& x, double negative_slope = 0.01);
Tensor& elu_(Tensor& x, double alpha = 1.0);
Tensor& celu_(Tensor& x, const Scalar& alpha = 1.0);
Tensor& selu_(Tensor& x);
Tensor& threshold_(Tensor& x, const Scalar& threshold, const Scalar& value);
Tensor& hardtanh_(Tensor& x, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& relu6_(Tensor& x);
Tensor& hardsigmoid_(Tensor& x);
Tensor& hardswish_(Tensor& x);
Tensor& mish_(Tensor& x);
Tensor& rrelu_(Tensor& x, const Scalar& lower = 1.0 / 8, const Scalar& upper = 1.0 / 3, detail::Flag training = false);

/// x > 0 ? x : negative_slope x; x == 0 takes the slope of the left side
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x > 0 ? x : alpha (e^x - 1)
Tensor elu(const Tensor& x, double alpha = 1.0);
/// ln(1 + e^(beta x)) / beta, and x itself where beta x > threshold
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);

// core/elementwise_ops.h says what they compute: sigmoid, relu, silu, gelu, softsign.
TANDEM_ACTIVATION_OPS(TANDEM_DECLARE_UNARY_OP)

}  // namespace tandem
