// Initial values, in place and unrecorded; torch::nn::init's names.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::init {

/// Fill t, of any shape and a floating dtype, and return it: uniform in [low, high), normal, one number, 1, 0.
Tensor uniform_(Tensor t, double low = 0, double high = 1);
Tensor normal_(Tensor t, double mean = 0, double std = 1);
Tensor constant_(Tensor t, const Scalar& value);
Tensor ones_(Tensor t);
Tensor zeros_(Tensor t);
/// Inputs and outputs of one unit of a weight (out, in, ...). @throws Error for fewer than two dimensions
std::tuple<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& weight);
/// What follows a layer: calculate_gain() and the initialisations of He et al. ask for it.
enum class Nonlinearity { linear, sigmoid, tanh, relu, leaky_relu };
using NonlinearityType = Nonlinearity;
/// Whether the size of activations (inputs of a unit) or of gradients (its outputs) is kept.
enum class FanMode { fan_in, fan_out };
using FanModeType = FanMode;
/// What the standard deviation is multiplied by to keep its size through a nonlinearity (a: leaky_relu's slope).
double calculate_gain(Nonlinearity nonlinearity, double a = 0.01);
/// The identity: ones on a matrix's diagonal, zeros elsewhere. @throws Error for another number of dimensions
Tensor eye_(Tensor matrix);
/// Ones in the middle of the kernels (out, in, ...) of a convolution in one to three dimensions, so that it hands
/// channel i on as channel i. @throws Error for another number of dimensions
Tensor dirac_(Tensor t);
/// gain times an orthogonal matrix of t.size(0) rows, t's other dimensions taken as one (Saxe et al. 2013,
/// arXiv:1312.6120). @throws Error for fewer than two dimensions
Tensor orthogonal_(Tensor t, double gain = 1.0);
/// A matrix drawn from a normal distribution, with a fraction `sparsity` of each column set to 0 at random places
/// (Martens 2010).
Tensor sparse_(Tensor matrix, double sparsity, double std = 0.01);
/// Uniform within gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
Tensor xavier_uniform_(Tensor t, double gain = 1);
/// The same from a normal distribution of deviation gain sqrt(2 / (fan_in + fan_out)).
Tensor xavier_normal_(Tensor t, double gain = 1);
/// Uniform within gain sqrt(3 / fan), where fan is fan_in or fan_out by `mode`, and gain calculate_gain(nonlinearity,
/// a) (He et al. 2015, arXiv:1502.01852).
Tensor kaiming_uniform_(Tensor t, double a = 0, FanMode mode = FanMode::fan_in,
                        Nonlinearity nonlinearity = Nonlinearity::leaky_relu);
/// The same from a normal distribution of deviation gain / sqrt(fan).
Tensor kaiming_normal_(Tensor t, double a = 0, FanMode mode = FanMode::fan_in,
                       Nonlinearity nonlinearity = Nonlinearity::leaky_relu);

}  // namespace tandem::nn::init

namespace tandem {
/// LibTorch's names of these.
constexpr nn::init::FanMode kFanIn = nn::init::FanMode::fan_in, kFanOut = nn::init::FanMode::fan_out;
/// LibTorch's names of these.
constexpr nn::init::Nonlinearity kLinear = nn::init::Nonlinearity::linear, kSigmoid = nn::init::Nonlinearity::sigmoid,
                                 kTanh = nn::init::Nonlinearity::tanh, kReLU = nn::init::Nonlinearity::relu,
                                 kLeakyReLU = nn::init::Nonlinearity::leaky_relu;
/// Convolutions by LibTorch's names: to calculate_gain they are as a linear layer, of gain 1.
constexpr nn::init::Nonlinearity kConv1D = kLinear, kConv2D = kLinear, kConv3D = kLinear, kConvTranspose1D = kLinear,
                                 kConvTranspose2D = kLinear, kConvTranspose3D = kLinear;
}  // namespace tandem
