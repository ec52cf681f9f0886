// Modules of activations. Their functions with options are in nn/functional.h.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module/simple_module.h"

namespace tandem::nn {

TANDEM_PLAIN_MODULE(Sigmoid, x.sigmoid());
TANDEM_PLAIN_MODULE(Tanh, x.tanh());
TANDEM_OPTION_MODULE(GELU, GELUOptions, = {}, functional::gelu(x, options));
TANDEM_PLAIN_MODULE(SiLU, silu(x));

TANDEM_OPTION_MODULE(ReLU, ReLUOptions, = {}, functional::relu(x, options));
TANDEM_OPTION_MODULE(LeakyReLU, LeakyReLUOptions, = {}, functional::leaky_relu(x, options));
TANDEM_OPTION_MODULE(ELU, ELUOptions, = {}, functional::elu(x, options));
TANDEM_OPTION_MODULE(SELU, SELUOptions, = {}, functional::selu(x, options));
TANDEM_PLAIN_MODULE(Mish, mish(x));
TANDEM_OPTION_MODULE(ReLU6, ReLU6Options, = {}, functional::relu6(x, options));
TANDEM_PLAIN_MODULE(Softsign, x.softsign());
TANDEM_PLAIN_MODULE(Tanhshrink, tanhshrink(x));
TANDEM_PLAIN_MODULE(LogSigmoid, log_sigmoid(x));
TANDEM_OPTION_MODULE(CELU, CELUOptions, = {}, functional::celu(x, options));
TANDEM_OPTION_MODULE(Hardshrink, HardshrinkOptions, = {}, functional::hardshrink(x, options));
TANDEM_OPTION_MODULE(Softshrink, SoftshrinkOptions, = {}, functional::softshrink(x, options));
TANDEM_OPTION_MODULE(Hardtanh, HardtanhOptions, = {}, functional::hardtanh(x, options));
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

/// x where it is above the threshold, else the value.
TANDEM_TWO_OPTION_MODULE(Threshold, double, double, functional::threshold(x, options));
/// x where it is above 0, else weight x, with one weight for all or one for each channel (dimension 1), which is
/// trained (He et al. 2015, arXiv:1502.01852).
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& o = {}) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x. @throws Error unless there is one weight, or as many as x has channels
  Tensor forward(const Tensor& x) { return x.prelu(weight); }
  PReLUOptions options;
  /// (num_parameters)
  Tensor weight;
};
TANDEM_LIBRARY_MODULE(PReLU);
/// Softmax over the channels of images (C, H, W) or (N, C, H, W). @throws Error for other dimensions
class Softmax2dImpl : public Cloneable<Softmax2dImpl> {
 public:
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x; its channels add up to 1.
  Tensor forward(const Tensor& x);
};
TANDEM_LIBRARY_MODULE(Softmax2d);

}  // namespace tandem::nn
