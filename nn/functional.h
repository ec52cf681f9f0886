// torch::nn::functional: activations and distances with option structs. Functions without options are in namespace
// tandem. Functions of other layers are declared beside their modules: nn/dropout.h, nn/linear.h, nn/loss.h.
#pragma once
#include "tandem/nn/options/activation.h"
#include "tandem/nn/options/distance.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {

using tandem::gelu;
using tandem::hardsigmoid;
using tandem::hardswish;
using tandem::mish;
using tandem::prelu;
using tandem::sigmoid;
using tandem::silu;
using tandem::softsign;
using tandem::tanh;
using tandem::tanhshrink;

using ReLUFuncOptions = ReLUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using GELUFuncOptions = GELUOptions;
using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using ReLU6FuncOptions = ReLU6Options;
using CELUFuncOptions = CELUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
using GLUFuncOptions = GLUOptions;
/// dtype: x is converted to it first; as x is, if it is not given.
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);                 // the dimension along which it works
  TANDEM_ARG(std::optional<DType>, dtype);  // what x is converted to first
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
struct RReLUFuncOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;  // the smallest slope
  TANDEM_ARG(double, upper) = 1.0 / 3;  // above the largest slope
  TANDEM_ARG(bool, training) = false;   // whether slopes are drawn, or all are the middle one
  TANDEM_ARG(bool, inplace) = false;    // whether the input itself is changed
};
struct GumbelSoftmaxFuncOptions {
  TANDEM_ARG(double, tau) = 1.0;   // the temperature: a small one comes close to a choice
  TANDEM_ARG(bool, hard) = false;  // whether a choice of one class is given
  TANDEM_ARG(int, dim) = -1;       // the dimension along which it works
};

inline Tensor softmax(const Tensor& x, const SoftmaxFuncOptions& o) { return tandem::softmax(x, o.dim(), o.dtype()); }
inline Tensor log_softmax(const Tensor& x, const LogSoftmaxFuncOptions& o) {
  return tandem::log_softmax(x, o.dim(), o.dtype());
}
inline Tensor relu(Tensor x, const ReLUOptions& o = {}) { return o.inplace() ? x.relu_() : x.relu(); }
inline Tensor relu6(Tensor x, const ReLU6Options& o = {}) { return o.inplace() ? relu6_(x) : tandem::relu6(x); }
inline Tensor leaky_relu(Tensor x, const LeakyReLUOptions& o = {}) {
  return o.inplace() ? leaky_relu_(x, o.negative_slope()) : tandem::leaky_relu(x, o.negative_slope());
}
inline Tensor gelu(const Tensor& x, const GELUOptions& o) { return tandem::gelu(x, o.approximate()); }
inline Tensor elu(Tensor x, const ELUOptions& o = {}) {
  return o.inplace() ? elu_(x, o.alpha()) : tandem::elu(x, o.alpha());
}
inline Tensor selu(Tensor x, const SELUOptions& o = {}) { return o.inplace() ? selu_(x) : tandem::selu(x); }
inline Tensor celu(Tensor x, const CELUOptions& o = {}) {
  return o.inplace() ? celu_(x, o.alpha()) : tandem::celu(x, o.alpha());
}
inline Tensor hardshrink(const Tensor& x, const HardshrinkOptions& o = {}) { return x.hardshrink(o.lambda()); }
inline Tensor softshrink(const Tensor& x, const SoftshrinkOptions& o = {}) { return tandem::softshrink(x, o.lambda()); }
inline Tensor hardtanh(Tensor x, const HardtanhOptions& o = {}) {
  return o.inplace() ? hardtanh_(x, o.min_val(), o.max_val()) : tandem::hardtanh(x, o.min_val(), o.max_val());
}
inline Tensor rrelu(Tensor x, const RReLUFuncOptions& o = {}) {
  return o.inplace() ? rrelu_(x, o.lower(), o.upper(), o.training())
                     : tandem::rrelu(x, o.lower(), o.upper(), o.training());
}
inline Tensor softplus(const Tensor& x, const SoftplusOptions& o = {}) {
  return tandem::softplus(x, o.beta(), o.threshold());
}
inline Tensor threshold(Tensor x, const ThresholdOptions& o) {
  return o.inplace() ? threshold_(x, o.threshold(), o.value()) : tandem::threshold(x, o.threshold(), o.value());
}
inline Tensor glu(const Tensor& x, const GLUOptions& o = {}) { return tandem::glu(x, o.dim()); }
inline Tensor logsigmoid(const Tensor& x) { return tandem::log_sigmoid(x); }
/// Of -x: the smallest element has the largest part.
inline Tensor softmin(const Tensor& x, const SoftminFuncOptions& o) { return tandem::softmax(-x, o.dim(), o.dtype()); }
/// softmax((x + Gumbel noise) / tau): random, near to a choice of one class (Jang et al. 2016, arXiv:1611.01144). With
/// `hard` that choice, as ones and zeros, with the gradient of the other.
inline Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxFuncOptions& o = {}) {
  const Tensor noise = -tandem::exponential(x.detach()).log();
  const Tensor soft = tandem::softmax((x + noise) / o.tau(), o.dim());
  if (!o.hard()) return soft;
  const Tensor best = soft.detach().argmax(o.dim(), /*keepdim=*/true);
  return zeros_like(soft.detach()).scatter(o.dim(), best, 1.0) - soft.detach() + soft;
}
/// The p-norms of the differences of all pairs of rows of x (N, D): (N (N - 1) / 2), in the order (0, 1), (0, 2), ...
inline Tensor pdist(const Tensor& x, double p = 2.0) { return tandem::pdist(x, p); }

inline Tensor cosine_similarity(const Tensor& a, const Tensor& b, const CosineSimilarityOptions& o = {}) {
  return tandem::cosine_similarity(a, b, o.dim(), o.eps());
}
inline Tensor pairwise_distance(const Tensor& a, const Tensor& b, const PairwiseDistanceOptions& o = {}) {
  return tandem::pairwise_distance(a, b, o.p(), o.eps(), o.keepdim());
}

}  // namespace tandem::nn::functional
