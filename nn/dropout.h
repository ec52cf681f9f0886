// Dropout: functions with options, and modules. ops/nn/dropout.h describes the computation.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/dropout.h"
#include "tandem/ops/nn/dropout.h"

namespace tandem::nn::functional {

struct DropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;        // probability of dropping an element or a channel
  TANDEM_ARG(bool, training) = true;  // if false, nothing is dropped
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct AlphaDropoutFuncOptions {
  TANDEM_ARG(double, p) = 0.5;         // probability of dropping an element or a channel
  TANDEM_ARG(bool, training) = false;  // if false, nothing is dropped
  TANDEM_ARG(bool, inplace) = false;   // if true, overwrites the input
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;

inline Tensor dropout(Tensor x, const DropoutFuncOptions& o = {}) {
  return o.inplace() ? dropout_(x, o.p(), o.training()) : tandem::dropout(x, o.p(), o.training());
}
/// Zeroes whole channels at random. dropout2d takes (N, C, H, W) or (C, H, W), dropout3d (N, C, D, H, W) or (C, D, H,
/// W). As in LibTorch, x with any other number of dimensions is treated as having no batch.
inline Tensor dropout2d(Tensor x, const DropoutFuncOptions& o = {}) {
  return detail::dropout_channels(std::move(x), 4, o.p(), o.training(), o.inplace());
}
inline Tensor dropout3d(Tensor x, const DropoutFuncOptions& o = {}) {
  return detail::dropout_channels(std::move(x), 5, o.p(), o.training(), o.inplace());
}

inline Tensor alpha_dropout(Tensor x, const AlphaDropoutFuncOptions& o = {}) {
  return o.inplace() ? alpha_dropout_(x, o.p(), o.training()) : tandem::alpha_dropout(x, o.p(), o.training());
}
inline Tensor feature_alpha_dropout(Tensor x, const AlphaDropoutFuncOptions& o = {}) {
  return o.inplace() ? feature_alpha_dropout_(x, o.p(), o.training())
                     : tandem::feature_alpha_dropout(x, o.p(), o.training());
}

}  // namespace tandem::nn::functional

namespace tandem::detail {
/// Converts the options of a dropout module to the options of the function that the module calls.
template <class FuncOptions> FuncOptions to_func_options(const nn::DropoutOptions& options, bool training) {
  return FuncOptions().p(options.p()).inplace(options.inplace()).training(training);
}
}  // namespace tandem::detail

namespace tandem::nn {

#define TANDEM_DROPOUT_MODULE(Name, function, FuncOptions) \
  TANDEM_OPTION_MODULE(                                    \
      Name, DropoutOptions, = {},                          \
      functional::function(x, detail::to_func_options<functional::FuncOptions>(options, is_training())))
TANDEM_DROPOUT_MODULE(Dropout, dropout, DropoutFuncOptions);
TANDEM_DROPOUT_MODULE(Dropout2d, dropout2d, DropoutFuncOptions);
TANDEM_DROPOUT_MODULE(Dropout3d, dropout3d, DropoutFuncOptions);
TANDEM_DROPOUT_MODULE(AlphaDropout, alpha_dropout, AlphaDropoutFuncOptions);
TANDEM_DROPOUT_MODULE(FeatureAlphaDropout, feature_alpha_dropout, AlphaDropoutFuncOptions);
#undef TANDEM_DROPOUT_MODULE

}  // namespace tandem::nn
