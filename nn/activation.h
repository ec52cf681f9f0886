// Activations: functions in namespace functional, and modules. Their options are in nn/options/activation.h.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/activation.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {

using tandem::gelu;
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
using HardswishFuncOptions = HardswishOptions;
using HardsigmoidFuncOptions = HardsigmoidOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
using GLUFuncOptions = GLUOptions;
/// dtype: if given, x is converted to this dtype before the softmax.
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);                 // dimension over which the results sum to 1
  TANDEM_ARG(std::optional<DType>, dtype);  // x is converted to this dtype first; nullopt: no conversion
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
using SoftminFuncOptions = SoftmaxFuncOptions;
struct RReLUFuncOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;  // lower bound of the slope for negative inputs
  TANDEM_ARG(double, upper) = 1.0 / 3;  // upper bound of the slope for negative inputs
  TANDEM_ARG(bool, training) = false;   // if true, slopes are random; if false, all are (lower + upper) / 2
  TANDEM_ARG(bool, inplace) = false;    // if true, overwrites the input
};
struct GumbelSoftmaxFuncOptions {
  TANDEM_ARG(double, tau) = 1.0;   // temperature: the smaller, the closer results are to one-hot vectors
  TANDEM_ARG(bool, hard) = false;  // if true, returns one-hot vectors
  TANDEM_ARG(int, dim) = -1;       // dimension over which the results sum to 1
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
inline Tensor hardswish(Tensor x, const HardswishOptions& o = {}) {
  return o.inplace() ? hardswish_(x) : tandem::hardswish(x);
}
inline Tensor hardsigmoid(Tensor x, const HardsigmoidOptions& o = {}) {
  return o.inplace() ? hardsigmoid_(x) : tandem::hardsigmoid(x);
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
/// softmax(-x): the smallest element gets the largest probability.
inline Tensor softmin(const Tensor& x, const SoftminFuncOptions& o) { return tandem::softmax(-x, o.dim(), o.dtype()); }
/// softmax((x + Gumbel noise) / tau): a random, nearly one-hot vector (Jang et al. 2016, arXiv:1611.01144). If `hard`
/// is true, returns the one-hot vector of the largest entry, with the gradient of the softmax.
inline Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxFuncOptions& o = {}) {
  const Tensor noise = -tandem::exponential(x.detach()).log();
  const Tensor soft = tandem::softmax((x + noise) / o.tau(), o.dim());
  if (!o.hard()) return soft;
  const Tensor best = soft.detach().argmax(o.dim(), /*keepdim=*/true);
  return zeros_like(soft.detach()).scatter(o.dim(), best, 1.0) - soft.detach() + soft;
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

TANDEM_MODULE_WITHOUT_OPTIONS(Sigmoid, x.sigmoid());
TANDEM_MODULE_WITHOUT_OPTIONS(Tanh, x.tanh());
TANDEM_OPTION_MODULE(GELU, GELUOptions, = {}, functional::gelu(x, options));
TANDEM_MODULE_WITHOUT_OPTIONS(SiLU, silu(x));

TANDEM_OPTION_MODULE(ReLU, ReLUOptions, = {}, functional::relu(x, options));
TANDEM_OPTION_MODULE(LeakyReLU, LeakyReLUOptions, = {}, functional::leaky_relu(x, options));
TANDEM_OPTION_MODULE(ELU, ELUOptions, = {}, functional::elu(x, options));
TANDEM_OPTION_MODULE(SELU, SELUOptions, = {}, functional::selu(x, options));
TANDEM_MODULE_WITHOUT_OPTIONS(Mish, mish(x));
TANDEM_OPTION_MODULE(ReLU6, ReLU6Options, = {}, functional::relu6(x, options));
TANDEM_MODULE_WITHOUT_OPTIONS(Softsign, x.softsign());
TANDEM_MODULE_WITHOUT_OPTIONS(Tanhshrink, tanhshrink(x));
TANDEM_MODULE_WITHOUT_OPTIONS(LogSigmoid, log_sigmoid(x));
TANDEM_OPTION_MODULE(CELU, CELUOptions, = {}, functional::celu(x, options));
TANDEM_OPTION_MODULE(Hardshrink, HardshrinkOptions, = {}, functional::hardshrink(x, options));
TANDEM_OPTION_MODULE(Softshrink, SoftshrinkOptions, = {}, functional::softshrink(x, options));
TANDEM_OPTION_MODULE(Hardtanh, HardtanhOptions, = {}, functional::hardtanh(x, options));
TANDEM_OPTION_MODULE(Hardswish, HardswishOptions, = {}, functional::hardswish(x, options));
TANDEM_OPTION_MODULE(Hardsigmoid, HardsigmoidOptions, = {}, functional::hardsigmoid(x, options));
TANDEM_OPTION_MODULE(RReLU, RReLUOptions, = {},
                     functional::rrelu(x, functional::RReLUFuncOptions()
                                              .lower(options.lower())
                                              .upper(options.upper())
                                              .training(is_training())
                                              .inplace(options.inplace())));
TANDEM_OPTION_MODULE(Softplus, SoftplusOptions, = {}, functional::softplus(x, options));
TANDEM_OPTION_MODULE(GLU, GLUOptions, = {}, functional::glu(x, options));
TANDEM_OPTION_MODULE(Softmin, SoftminOptions, , softmax(-x, options.dim()));
TANDEM_OPTION_MODULE(Softmax, SoftmaxOptions, , softmax(x, options.dim()));
TANDEM_OPTION_MODULE(LogSoftmax, LogSoftmaxOptions, , log_softmax(x, options.dim()));

/// Returns x where x is above the option `threshold`, and the option `value` elsewhere.
TANDEM_TWO_OPTION_MODULE(Threshold, double, double, functional::threshold(x, options));
/// Returns x where x is above 0, and weight * x elsewhere. The weight is trained; there is one weight for all channels,
/// or one per channel (dimension 1) (He et al. 2015, arXiv:1502.01852).
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& o = {}) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes. @throws Error unless the module has one weight, or one weight per channel of x
  Tensor forward(const Tensor& x) { return x.prelu(weight); }
  PReLUOptions options;
  /// Slopes for negative elements: (num_parameters).
  Tensor weight;
};
TANDEM_LIBRARY_MODULE(PReLU);
/// Softmax over the channels of images (C, H, W) or (N, C, H, W).
class Softmax2dImpl : public Cloneable<Softmax2dImpl> {
 public:
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes, whose channels sum to 1. @throws Error unless x has three or four dimensions
  Tensor forward(const Tensor& x);
};
TANDEM_LIBRARY_MODULE(Softmax2d);

}  // namespace tandem::nn
