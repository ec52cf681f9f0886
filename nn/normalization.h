// Layer, group, RMS and local response norm, and normalisation of vectors: options, functions with options, modules.
// The modules of batch norm and instance norm are in nn/batch_norm.h.
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
  TANDEM_ARG(int64_t, num_groups);    // number of groups; each group of channels is normalised together
  TANDEM_ARG(int64_t, num_channels);  // number of channels of the input
  TANDEM_ARG(double, eps) = 1e-5;     // added to the variance to avoid division by zero
  TANDEM_ARG(bool, affine) = true;    // whether the module has a trainable weight and bias
};
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);         // number of neighbouring channels whose squares are summed
  TANDEM_ARG(double, alpha) = 1e-4;  // factor of (sum of squares) / size
  TANDEM_ARG(double, beta) = 0.75;   // exponent of the divisor
  TANDEM_ARG(double, k) = 1;         // divisor: (k + alpha * (sum of squares) / size)^beta
};
struct CrossMapLRN2dOptions {
  /// size: number of neighbouring channels whose squares are summed.
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);         // number of neighbouring channels whose squares are summed
  TANDEM_ARG(double, alpha) = 1e-4;  // factor of (sum of squares) / size
  TANDEM_ARG(double, beta) = 0.75;   // exponent of the divisor
  TANDEM_ARG(int64_t, k) = 1;        // divisor: (k + alpha * (sum of squares) / size)^beta
};
/// LibTorch has no RMSNorm; names and defaults follow Python's PyTorch.
struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // sizes of the last dimensions, to normalise over
  TANDEM_ARG(std::optional<double>, eps);              // added to the mean square; nullopt: the dtype's machine epsilon
  TANDEM_ARG(bool, elementwise_affine) = true;         // whether the module has a trainable weight
};

namespace functional {
struct BatchNormFuncOptions {
  TANDEM_ARG(Tensor, weight);                         // one factor per channel; if undefined, all are 1
  TANDEM_ARG(Tensor, bias);                           // one value to add per channel; if undefined, all are 0
  TANDEM_ARG(bool, training) = false;                 // if true, uses the batch's own mean and variance
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;  // weight of the batch in the running statistics; nullopt: 1
  TANDEM_ARG(double, eps) = 1e-5;                     // added to the variance to avoid division by zero
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // sizes of the last dimensions, to normalise over
  TANDEM_ARG(Tensor, weight);                          // factors, of sizes normalized_shape; if undefined, all are 1
  TANDEM_ARG(Tensor, bias);                            // addends, of sizes normalized_shape; if undefined, all are 0
  TANDEM_ARG(double, eps) = 1e-5;                      // added to the variance to avoid division by zero
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TANDEM_ARG(int64_t, num_groups);  // number of groups; each group of channels is normalised together
  TANDEM_ARG(Tensor, weight);       // one factor per channel; if undefined, all are 1
  TANDEM_ARG(Tensor, bias);         // one value to add per channel; if undefined, all are 0
  TANDEM_ARG(double, eps) = 1e-5;   // added to the variance to avoid division by zero
};
struct InstanceNormFuncOptions {
  TANDEM_ARG(Tensor, running_mean);          // running mean of the previous batches; if undefined, none is kept
  TANDEM_ARG(Tensor, running_var);           // running variance of the previous batches; if undefined, none is kept
  TANDEM_ARG(Tensor, weight);                // one factor per channel; if undefined, all are 1
  TANDEM_ARG(Tensor, bias);                  // one value to add per channel; if undefined, all are 0
  TANDEM_ARG(bool, use_input_stats) = true;  // if true, uses x's own mean and variance
  TANDEM_ARG(double, momentum) = 0.1;        // weight of the batch in the running statistics
  TANDEM_ARG(double, eps) = 1e-5;            // added to the variance to avoid division by zero
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct NormalizeFuncOptions {
  TANDEM_ARG(double, p) = 2;        // order p of the norm
  TANDEM_ARG(int64_t, dim) = 1;     // dimension of the vectors
  TANDEM_ARG(double, eps) = 1e-12;  // lower bound of the divisor
};

// The functions of ops/nn/ with their arguments as options.

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
/// x / (k + alpha * m)^beta, where m is the mean of the squares of the `size` nearest channels; channels beyond the
/// first and last count as 0. x (N, C, ...). Source: Krizhevsky et al. 2012.
Tensor local_response_norm(const Tensor& x, const LocalResponseNormOptions& o);
/// Divides the vectors of x along `dim` by their p-norm, or by eps if that is larger.
Tensor normalize(const Tensor& x, const NormalizeFuncOptions& o = {});
}  // namespace functional

/// Normalises over the last dimensions, of sizes normalized_shape; tandem::layer_norm computes it.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(const LayerNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Sets the weight to ones and the bias to zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes. @throws Error unless the last dimensions of x are normalized_shape
  Tensor forward(const Tensor& x) { return layer_norm(x, options.normalized_shape(), weight, bias, options.eps()); }
  LayerNormOptions options;
  /// Tensors of sizes normalized_shape; undefined if options.elementwise_affine() is false.
  Tensor weight, bias;
};
TANDEM_LIBRARY_MODULE(LayerNorm);

/// Normalises groups of channels of x (N, C, ...); tandem::group_norm computes it.
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Sets the weight to ones and the bias to zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes.
  Tensor forward(const Tensor& x) { return group_norm(x, options.num_groups(), weight, bias, options.eps()); }
  GroupNormOptions options;
  Tensor weight, bias;  // (num_channels); undefined if options.affine() is false
};
TANDEM_LIBRARY_MODULE(GroupNorm);

/// Applies functional::local_response_norm.
class LocalResponseNormImpl : public Cloneable<LocalResponseNormImpl> {
 public:
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes.
  Tensor forward(const Tensor& x) { return functional::local_response_norm(x, options); }
  LocalResponseNormOptions options;
};
TANDEM_LIBRARY_MODULE(LocalResponseNorm);

/// x / (k + alpha / size * s)^beta, where s sums the squares of a channel and of the (size - 1) / 2 channels on either
/// side of it. As in PyTorch, s of every channel from index (size - 1) / 2 + 1 on also includes the square of channel
/// 0.
class CrossMapLRN2dImpl : public Cloneable<CrossMapLRN2dImpl> {
 public:
  /// size: number of neighbouring channels whose squares are summed; the other options are the defaults.
  CrossMapLRN2dImpl(int64_t size) : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes, (N, C, H, W). @throws Error unless x has four dimensions
  Tensor forward(const Tensor& x);
  CrossMapLRN2dOptions options;
};
TANDEM_LIBRARY_MODULE(CrossMapLRN2d);

/// Divides by the root mean square over the last dimensions; tandem::rms_norm computes it.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(const RMSNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Sets the weight to ones.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Returns a tensor of x's sizes.
  Tensor forward(const Tensor& x) { return rms_norm(x, options.normalized_shape(), weight, options.eps()); }
  RMSNormOptions options;
  Tensor weight;  // of sizes normalized_shape; undefined if options.elementwise_affine() is false
};
TANDEM_LIBRARY_MODULE(RMSNorm);

}  // namespace tandem::nn
