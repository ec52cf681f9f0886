// Modules with parameters or state.
#pragma once
#include "tandem/nn/batch_norm.h"
#include "tandem/nn/convolution.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// y = x W^T + b; x (..., in_features) -> (..., out_features)
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Uniform within 1 / sqrt(in_features), as torch::nn::Linear.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// x (..., in_features) -> (..., out_features)
  Tensor forward(const Tensor& x) { return functional::linear(x, weight, bias); }
  LinearOptions options;
  Tensor weight;  // (out_features, in_features)
  Tensor bias;    // (out_features), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Linear);

/// functional::bilinear with a weight (out_features, in1_features, in2_features).
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Uniform within 1 / sqrt(in1_features).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (..., in1_features), (..., in2_features) -> (..., out_features)
  Tensor forward(const Tensor& x1, const Tensor& x2) { return functional::bilinear(x1, x2, weight, bias); }
  BilinearOptions options;
  Tensor weight;  // (out_features, in1_features, in2_features)
  Tensor bias;    // (out_features), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Bilinear);

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

}  // namespace tandem::nn
