// Modules without parameters: activations, dropout, flatten.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"
#include "tandem/nn/module/simple_module.h"

namespace tandem::detail {
/// A dropout's options for a call of its function.
template <class FuncOptions> FuncOptions with_training(const nn::DropoutOptions& options, bool training) {
  return FuncOptions().p(options.p()).inplace(options.inplace()).training(training);
}
}  // namespace tandem::detail

namespace tandem::nn {

TANDEM_PLAIN_MODULE(Sigmoid, x.sigmoid());
TANDEM_PLAIN_MODULE(Tanh, x.tanh());
TANDEM_OPTION_MODULE(GELU, GELUOptions, = {}, functional::gelu(x, options));
TANDEM_PLAIN_MODULE(SiLU, silu(x));
/// Gives its input on: the place of a module that is left out.
TANDEM_PLAIN_MODULE(Identity, x);

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
TANDEM_OPTION_MODULE(Flatten, FlattenOptions, = {}, x.flatten(options.start_dim(), options.end_dim()));
TANDEM_OPTION_MODULE(Dropout, DropoutOptions, = {},
                     functional::dropout(x, detail::with_training<functional::DropoutFuncOptions>(options,
                                                                                                  is_training())));
TANDEM_OPTION_MODULE(Dropout2d, DropoutOptions, = {},
                     functional::dropout2d(x, detail::with_training<functional::DropoutFuncOptions>(options,
                                                                                                    is_training())));
TANDEM_OPTION_MODULE(Dropout3d, DropoutOptions, = {},
                     functional::dropout3d(x, detail::with_training<functional::DropoutFuncOptions>(options,
                                                                                                    is_training())));
TANDEM_OPTION_MODULE(
    AlphaDropout, DropoutOptions, = {},
    functional::alpha_dropout(x, detail::with_training<functional::AlphaDropoutFuncOptions>(options, is_training())));
TANDEM_OPTION_MODULE(FeatureAlphaDropout, DropoutOptions, = {},
                     functional::feature_alpha_dropout(
                         x, detail::with_training<functional::AlphaDropoutFuncOptions>(options, is_training())));

/// x where it is above the threshold, else the value.
class ThresholdImpl : public Cloneable<ThresholdImpl> {
 public:
  ThresholdImpl(double threshold, double value) : ThresholdImpl(ThresholdOptions(threshold, value)) {}
  explicit ThresholdImpl(const ThresholdOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x.
  Tensor forward(const Tensor& x) { return functional::threshold(x, options); }
  ThresholdOptions options;
};
TANDEM_LIBRARY_MODULE(Threshold);
/// Softmax over the channels of images (C, H, W) or (N, C, H, W). @throws Error for other dimensions
class Softmax2dImpl : public Cloneable<Softmax2dImpl> {
 public:
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x; its channels add up to 1.
  Tensor forward(const Tensor& x);
};
TANDEM_LIBRARY_MODULE(Softmax2d);
/// One dimension as several: the opposite of Flatten.
class UnflattenImpl : public Cloneable<UnflattenImpl> {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))) {}
  explicit UnflattenImpl(const UnflattenOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// The elements of x, as a view where its strides allow.
  Tensor forward(const Tensor& x) { return x.unflatten(options.dim(), options.sizes()); }
  UnflattenOptions options;
};
TANDEM_LIBRARY_MODULE(Unflatten);
/// Of the vectors of a and b along a dimension.
class CosineSimilarityImpl : public Cloneable<CosineSimilarityImpl> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// From -1 to 1, without the dimension.
  Tensor forward(const Tensor& a, const Tensor& b) { return functional::cosine_similarity(a, b, options); }
  CosineSimilarityOptions options;
};
TANDEM_LIBRARY_MODULE(CosineSimilarity);
/// Of the vectors of a and b along the last dimension.
class PairwiseDistanceImpl : public Cloneable<PairwiseDistanceImpl> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Without the last dimension, or with it as 1 (keepdim).
  Tensor forward(const Tensor& a, const Tensor& b) { return functional::pairwise_distance(a, b, options); }
  PairwiseDistanceOptions options;
};
TANDEM_LIBRARY_MODULE(PairwiseDistance);

/// A function as a module: Functional(relu), Functional(log_softmax, 1).
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  template <class Function, class... Args>
  requires(sizeof...(Args) > 0) FunctionalImpl(Function function, Args... args)
      : function_([=](const Tensor& x) -> Tensor {
          if constexpr (std::is_invocable_v<Function, const Tensor&, Args...>)
            return function(x, args...);
          else
            return function(x, args..., std::nullopt);  // softmax, whose last argument is a dtype
        }) {}
  FunctionalImpl(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  void reset() override;
  /// What the function makes of x.
  Tensor forward(const Tensor& x) { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};
TANDEM_LIBRARY_MODULE(Functional);

}  // namespace tandem::nn
