// Modules without parameters: activations, pools, dropout, flatten, losses.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// A module that is its options and a function of them. How it prints itself is in simple.cpp.
#define TANDEM_OPTION_MODULE(Name, Options, default_options, call)        \
  class Name##Impl : public Cloneable<Name##Impl> {                       \
   public:                                                                \
    explicit Name##Impl(const Options& o default_options) : options(o) {} \
    void reset() override;                                                \
    void pretty_print(std::ostream& out) const override;                  \
    Tensor forward(const Tensor& x) { return call; }                      \
    Options options;                                                      \
  };                                                                      \
  TANDEM_LIBRARY_MODULE(Name)
#define TANDEM_PLAIN_MODULE(Name, call)                  \
  class Name##Impl : public Cloneable<Name##Impl> {      \
   public:                                               \
    void reset() override;                               \
    void pretty_print(std::ostream& out) const override; \
    Tensor forward(const Tensor& x) { return call; }     \
  };                                                     \
  TANDEM_LIBRARY_MODULE(Name)

TANDEM_PLAIN_MODULE(Sigmoid, x.sigmoid());
TANDEM_PLAIN_MODULE(Tanh, x.tanh());
TANDEM_PLAIN_MODULE(GELU, gelu(x));
TANDEM_PLAIN_MODULE(SiLU, silu(x));
TANDEM_PLAIN_MODULE(Identity, x);
TANDEM_OPTION_MODULE(ReLU, ReLUOptions, = {}, functional::relu(x, options));
TANDEM_OPTION_MODULE(LeakyReLU, LeakyReLUOptions, = {}, functional::leaky_relu(x, options));
TANDEM_OPTION_MODULE(ELU, ELUOptions, = {}, functional::elu(x, options));
TANDEM_OPTION_MODULE(Softmax, SoftmaxOptions, , softmax(x, options.dim()));
TANDEM_OPTION_MODULE(LogSoftmax, LogSoftmaxOptions, , log_softmax(x, options.dim()));
TANDEM_OPTION_MODULE(MaxPool2d, MaxPool2dOptions, , functional::max_pool2d(x, options));
TANDEM_OPTION_MODULE(AvgPool2d, AvgPool2dOptions, , functional::avg_pool2d(x, options));
TANDEM_OPTION_MODULE(AdaptiveAvgPool2d, AdaptiveAvgPool2dOptions, , adaptive_avg_pool2d(x, options.output_size()));
TANDEM_OPTION_MODULE(Flatten, FlattenOptions, = {}, x.flatten(options.start_dim(), options.end_dim()));
TANDEM_OPTION_MODULE(Dropout, DropoutOptions, = {}, dropout(x, options.p(), is_training()));
TANDEM_OPTION_MODULE(Dropout2d, DropoutOptions, = {}, dropout2d(x, options.p(), is_training()));

/// A function as a module: Functional(relu), Functional(log_softmax, 1).
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  template <class Function, class... Args>
  requires(sizeof...(Args) > 0) FunctionalImpl(Function function, Args... args)
      : function_([=](const Tensor& x) -> Tensor { return function(x, args...); }) {}
  FunctionalImpl(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  void reset() override;
  Tensor forward(const Tensor& x) { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};
TANDEM_LIBRARY_MODULE(Functional);

#define TANDEM_LOSS_MODULE(Name, function)                                                                     \
  class Name##Impl : public Cloneable<Name##Impl> {                                                            \
   public:                                                                                                     \
    explicit Name##Impl(const Name##Options& o = {}) : options(o) {}                                           \
    void reset() override;                                                                                     \
    void pretty_print(std::ostream& out) const override;                                                       \
    Tensor forward(const Tensor& x, const Tensor& target) { return functional::function(x, target, options); } \
    Name##Options options;                                                                                     \
  };                                                                                                           \
  TANDEM_LIBRARY_MODULE(Name)
TANDEM_LOSS_MODULE(CrossEntropyLoss, cross_entropy);
TANDEM_LOSS_MODULE(NLLLoss, nll_loss);
TANDEM_LOSS_MODULE(MSELoss, mse_loss);
TANDEM_LOSS_MODULE(L1Loss, l1_loss);
TANDEM_LOSS_MODULE(SmoothL1Loss, smooth_l1_loss);
TANDEM_LOSS_MODULE(BCELoss, binary_cross_entropy);
TANDEM_LOSS_MODULE(BCEWithLogitsLoss, binary_cross_entropy_with_logits);
#undef TANDEM_OPTION_MODULE
#undef TANDEM_PLAIN_MODULE
#undef TANDEM_LOSS_MODULE

}  // namespace tandem::nn
