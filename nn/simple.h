// Modules without parameters: activations, pools, dropout, flatten, losses.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// A module that is its options and a function of them.
#define TANDEM_OPTION_MODULE(Name, Options, call)                              \
  class Name##Impl : public Cloneable<Name##Impl> {                            \
   public:                                                                     \
    explicit Name##Impl(const Options& o) : options(o) {}                      \
    void reset() override {}                                                   \
    void pretty_print(std::ostream& out) const override { out << #Name "()"; } \
    Tensor forward(const Tensor& x) { return call; }                           \
    Options options;                                                           \
  };                                                                           \
  TANDEM_MODULE(Name)
#define TANDEM_DEFAULT_MODULE(Name, Options, call)                             \
  class Name##Impl : public Cloneable<Name##Impl> {                            \
   public:                                                                     \
    explicit Name##Impl(const Options& o = {}) : options(o) {}                 \
    void reset() override {}                                                   \
    void pretty_print(std::ostream& out) const override { out << #Name "()"; } \
    Tensor forward(const Tensor& x) { return call; }                           \
    Options options;                                                           \
  };                                                                           \
  TANDEM_MODULE(Name)
#define TANDEM_PLAIN_MODULE(Name, call)                                        \
  class Name##Impl : public Cloneable<Name##Impl> {                            \
   public:                                                                     \
    void reset() override {}                                                   \
    void pretty_print(std::ostream& out) const override { out << #Name "()"; } \
    Tensor forward(const Tensor& x) { return call; }                           \
  };                                                                           \
  TANDEM_MODULE(Name)

TANDEM_PLAIN_MODULE(ReLU, x.relu());
TANDEM_PLAIN_MODULE(Sigmoid, x.sigmoid());
TANDEM_PLAIN_MODULE(Tanh, x.tanh());
TANDEM_PLAIN_MODULE(GELU, gelu(x));
TANDEM_PLAIN_MODULE(SiLU, silu(x));
TANDEM_PLAIN_MODULE(Identity, x);
TANDEM_DEFAULT_MODULE(LeakyReLU, LeakyReLUOptions, functional::leaky_relu(x, options));
TANDEM_DEFAULT_MODULE(ELU, ELUOptions, functional::elu(x, options));
TANDEM_OPTION_MODULE(Softmax, SoftmaxOptions, softmax(x, options.dim()));
TANDEM_OPTION_MODULE(LogSoftmax, LogSoftmaxOptions, log_softmax(x, options.dim()));
TANDEM_OPTION_MODULE(MaxPool2d, MaxPool2dOptions, functional::max_pool2d(x, options));
TANDEM_OPTION_MODULE(AvgPool2d, AvgPool2dOptions, functional::avg_pool2d(x, options));
TANDEM_OPTION_MODULE(AdaptiveAvgPool2d, Pair, adaptive_avg_pool2d(x, options));
TANDEM_DEFAULT_MODULE(Flatten, FlattenOptions, x.flatten(options.start_dim(), options.end_dim()));
TANDEM_DEFAULT_MODULE(Dropout, DropoutOptions, dropout(x, options.p(), is_training()));
TANDEM_DEFAULT_MODULE(Dropout2d, DropoutOptions, dropout2d(x, options.p(), is_training()));

#define TANDEM_LOSS_MODULE(Name, function)                                                                     \
  class Name##Impl : public Cloneable<Name##Impl> {                                                            \
   public:                                                                                                     \
    explicit Name##Impl(const LossOptions& o = {}) : options(o) {}                                             \
    void reset() override {}                                                                                   \
    void pretty_print(std::ostream& out) const override { out << #Name "()"; }                                 \
    Tensor forward(const Tensor& x, const Tensor& target) { return functional::function(x, target, options); } \
    LossOptions options;                                                                                       \
  };                                                                                                           \
  TANDEM_MODULE(Name)
TANDEM_LOSS_MODULE(CrossEntropyLoss, cross_entropy);
TANDEM_LOSS_MODULE(NLLLoss, nll_loss);
TANDEM_LOSS_MODULE(MSELoss, mse_loss);
TANDEM_LOSS_MODULE(L1Loss, l1_loss);
TANDEM_LOSS_MODULE(SmoothL1Loss, smooth_l1_loss);
TANDEM_LOSS_MODULE(BCELoss, binary_cross_entropy);
TANDEM_LOSS_MODULE(BCEWithLogitsLoss, binary_cross_entropy_with_logits);

}  // namespace tandem::nn
