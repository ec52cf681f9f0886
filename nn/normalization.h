// Normalisations by layers, groups, neighbours and norms: options, functions with options, modules. The modules of
// batch and instance norm are in nn/batch_norm.h.
#pragma once
#include "tandem/nn/batch_norm.h"
#include "tandem/nn/options/normalization.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/group_norm.h"
#include "tandem/ops/nn/instance_norm.h"
#include "tandem/ops/nn/layer_norm.h"

namespace tandem::nn {

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  TANDEM_ARG(int64_t, num_groups);    // groups of channels that are normalised together
  TANDEM_ARG(int64_t, num_channels);  // channels of the input
  TANDEM_ARG(double, eps) = 1e-5;     // keeps the divisor from 0
  TANDEM_ARG(bool, affine) = true;    // whether it has a weight and a bias to train
};
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);         // how many channels are taken together
  TANDEM_ARG(double, alpha) = 1e-4;  // the factor of the sum of squares
  TANDEM_ARG(double, beta) = 0.75;   // the power of the sum
  TANDEM_ARG(double, k) = 1;         // what is added to it
};
struct CrossMapLRN2dOptions {
  /// How many channels are taken together.
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);         // how many channels are taken together
  TANDEM_ARG(double, alpha) = 1e-4;  // the factor of the sum of squares
  TANDEM_ARG(double, beta) = 0.75;   // the power of the sum
  TANDEM_ARG(int64_t, k) = 1;        // what is added to it
};
/// LibTorch has no RMSNorm; names and defaults are those of Python's PyTorch.
struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // the sizes of the last dimensions
  TANDEM_ARG(std::optional<double>, eps);              // that of the dtype of x unless set
  TANDEM_ARG(bool, elementwise_affine) = true;  // whether it has a weight, and a bias where there is one, to train
};

namespace functional {
struct BatchNormFuncOptions {
  TANDEM_ARG(Tensor, weight);                         // one factor for each channel, or none
  TANDEM_ARG(Tensor, bias);                           // one number for each channel, or none
  TANDEM_ARG(bool, training) = false;                 // whether the batch's own mean and variance are used
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;  // nullopt: the running statistics become the batch's
  TANDEM_ARG(double, eps) = 1e-5;                     // keeps the divisor from 0
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // the sizes of the last dimensions
  TANDEM_ARG(Tensor, weight);                          // of sizes normalized_shape, or none
  TANDEM_ARG(Tensor, bias);                            // of sizes normalized_shape, or none
  TANDEM_ARG(double, eps) = 1e-5;                      // keeps the divisor from 0
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TANDEM_ARG(int64_t, num_groups);  // groups of channels that are normalised together
  TANDEM_ARG(Tensor, weight);       // one factor for each channel, or none
  TANDEM_ARG(Tensor, bias);         // one number for each channel, or none
  TANDEM_ARG(double, eps) = 1e-5;   // keeps the divisor from 0
};
struct InstanceNormFuncOptions {
  TANDEM_ARG(Tensor, running_mean);          // the mean of what came so far
  TANDEM_ARG(Tensor, running_var);           // the variance of what came so far
  TANDEM_ARG(Tensor, weight);                // one factor for each channel, or none
  TANDEM_ARG(Tensor, bias);                  // one number for each channel, or none
  TANDEM_ARG(bool, use_input_stats) = true;  // whether x's own mean and variance are used
  TANDEM_ARG(double, momentum) = 0.1;        // the new batch's part in the running ones
  TANDEM_ARG(double, eps) = 1e-5;            // keeps the divisor from 0
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct NormalizeFuncOptions {
  TANDEM_ARG(double, p) = 2;        // the p of the norm
  TANDEM_ARG(int64_t, dim) = 1;     // the dimension along which it works
  TANDEM_ARG(double, eps) = 1e-12;  // keeps the divisor from 0
};

// The operations of ops/nn/ with their arguments as options.

inline Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                         const BatchNormFuncOptions& o = {}) {
  return tandem::batch_norm(x, o.weight(), o.bias(), running_mean, running_var, o.training(), o.momentum().value_or(1),
                            o.eps());
}
inline Tensor layer_norm(const Tensor& x, const LayerNormFuncOptions& o) {
  return tandem::layer_norm(x, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}
inline Tensor group_norm(const Tensor& x, const GroupNormFuncOptions& o) {
  return tandem::group_norm(x, o.num_groups(), o.weight(), o.bias(), o.eps());
}
inline Tensor instance_norm(const Tensor& x, const InstanceNormFuncOptions& o = {}) {
  return tandem::instance_norm(x, o.weight(), o.bias(), o.running_mean(), o.running_var(), o.use_input_stats(),
                               o.momentum(), o.eps());
}
/// x / (k + alpha m)^beta with m the mean of the squares of the `size` nearest channels; beyond the first and the last
/// channel they count as 0. x (N, C, ...). Source: Krizhevsky et al. 2012.
Tensor local_response_norm(const Tensor& x, const LocalResponseNormOptions& o);
/// x over the larger of its p-norm along dim and eps.
Tensor normalize(const Tensor& x, const NormalizeFuncOptions& o = {});
}  // namespace functional

/// Normalises the last dimensions
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(const LayerNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Ones and zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x. @throws Error unless the last dimensions are normalized_shape
  Tensor forward(const Tensor& x) { return layer_norm(x, options.normalized_shape(), weight, bias, options.eps()); }
  LayerNormOptions options;
  /// Of sizes normalized_shape; undefined when options.elementwise_affine() is false.
  Tensor weight, bias;
};
TANDEM_LIBRARY_MODULE(LayerNorm);

/// As group_norm: x (N, C, ...).
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Ones and zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x.
  Tensor forward(const Tensor& x) { return group_norm(x, options.num_groups(), weight, bias, options.eps()); }
  GroupNormOptions options;
  Tensor weight, bias;  // (num_channels), undefined when not affine
};
TANDEM_LIBRARY_MODULE(GroupNorm);

/// As functional::local_response_norm.
class LocalResponseNormImpl : public Cloneable<LocalResponseNormImpl> {
 public:
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x.
  Tensor forward(const Tensor& x) { return functional::local_response_norm(x, options); }
  LocalResponseNormOptions options;
};
TANDEM_LIBRARY_MODULE(LocalResponseNorm);

/// x / (k + alpha / size s)^beta, s the sum of the squares of the (size - 1) / 2 channels before and behind each and
/// its own; channels that come more than those behind the first one take the first one's too, as in PyTorch.
class CrossMapLRN2dImpl : public Cloneable<CrossMapLRN2dImpl> {
 public:
  /// Of the default options but for the size.
  CrossMapLRN2dImpl(int64_t size) : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// x (N, C, H, W) -> the same sizes. @throws Error for any other
  Tensor forward(const Tensor& x);
  CrossMapLRN2dOptions options;
};
TANDEM_LIBRARY_MODULE(CrossMapLRN2d);

/// As rms_norm.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(const RMSNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Ones.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x.
  Tensor forward(const Tensor& x) { return rms_norm(x, options.normalized_shape(), weight, options.eps()); }
  RMSNormOptions options;
  Tensor weight;  // normalized_shape, undefined when not affine
};
TANDEM_LIBRARY_MODULE(RMSNorm);

}  // namespace tandem::nn
