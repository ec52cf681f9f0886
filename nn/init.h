// Initialises tensors in place, not recorded by autograd; under the names of torch::nn::init.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::init {

/// Fill t with uniform values in [low, high), normal values, one number, ones or zeros, and return t. t has a
/// floating-point dtype and any shape.
Tensor uniform_(Tensor t, double low = 0, double high = 1);
Tensor normal_(Tensor t, double mean = 0, double std = 1);
Tensor constant_(Tensor t, const Scalar& value);
Tensor ones_(Tensor t);
Tensor zeros_(Tensor t);
/// Returns (fan_in, fan_out) of a weight (out, in, ...): the number of inputs and outputs of one unit.
/// @throws Error for fewer than two dimensions
std::tuple<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& weight);
/// The activation after a layer; an argument of calculate_gain() and the kaiming functions.
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu };
using NonlinearityType = Nonlinearity;
/// Whether to preserve the variance of activations in forward (fan_in) or of gradients in backward (fan_out).
enum class FanMode { fan_in, fan_out };
using FanModeType = FanMode;
/// Returns the factor for the standard deviation of weights that compensates a nonlinearity. `a`: slope of leaky_relu.
double calculate_gain(Nonlinearity nonlinearity, double a = 0.01);
/// Fills a matrix with the identity: ones on the diagonal, zeros elsewhere. @throws Error unless it has two dimensions
Tensor eye_(Tensor matrix);
/// Fills the weight (out, in, ...) of a 1-d, 2-d or 3-d convolution so that output channel i equals input channel i: a
/// one at the centre of kernel (i, i), zeros elsewhere. @throws Error unless t has three to five dimensions
Tensor dirac_(Tensor t);
/// Fills t with gain times a random orthogonal matrix of t.size(0) rows; t's other dimensions are flattened into one
/// (Saxe et al. 2013, arXiv:1312.6120). @throws Error for fewer than two dimensions
Tensor orthogonal_(Tensor t, double gain = 1.0);
/// Fills a matrix with normal values of standard deviation `std`, then sets a fraction `sparsity` of each column to 0
/// at random rows (Martens 2010). @throws Error unless it has two dimensions and sparsity is from 0 to 1
Tensor sparse_(Tensor matrix, double sparsity, double std = 0.01);
/// Fills t uniformly in +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
Tensor xavier_uniform_(Tensor t, double gain = 1);
/// Fills t with normal values of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).
Tensor xavier_normal_(Tensor t, double gain = 1);
/// Fills t uniformly in +-gain * sqrt(3 / fan), with fan selected by `mode` and gain = calculate_gain(nonlinearity, a)
/// (He et al. 2015, arXiv:1502.01852).
Tensor kaiming_uniform_(Tensor t, double a = 0, FanMode mode = FanMode::fan_in,
                        Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// Fills t with normal values of standard deviation gain / sqrt(fan), with fan and gain as in kaiming_uniform_.
Tensor kaiming_normal_(Tensor t, double a = 0, FanMode mode = FanMode::fan_in,
                       Nonlinearity nonlinearity = Nonlinearity::leaky_relu);

}  // namespace tandem::nn::init

namespace tandem {
/// LibTorch's names for the modes.
constexpr nn::init::FanMode kFanIn = nn::init::FanMode::fan_in, kFanOut = nn::init::FanMode::fan_out;
/// LibTorch's names for the nonlinearities.
constexpr nn::init::Nonlinearity kLinear = nn::init::Nonlinearity::linear, kSigmoid = nn::init::Nonlinearity::sigmoid,
                                 kTanh = nn::init::Nonlinearity::tanh, kReLU = nn::init::Nonlinearity::relu,
                                 kLeakyReLU = nn::init::Nonlinearity::leaky_relu;
/// LibTorch's names for convolutions; calculate_gain returns 1 for them, as for a linear layer.
constexpr nn::init::Nonlinearity kConv1D = kLinear, kConv2D = kLinear, kConv3D = kLinear, kConvTranspose1D = kLinear,
                                 kConvTranspose2D = kLinear, kConvTranspose3D = kLinear;
}  // namespace tandem
