// Linear and bilinear layers, Identity, and layers that flatten or unflatten dimensions.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/linear.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace functional {

using tandem::linear;

}  // namespace functional

/// Returns its input: a placeholder for a module that is left out.
TANDEM_MODULE_WITHOUT_OPTIONS(Identity, x);

/// y = x W^T + b; x (..., in_features) -> (..., out_features)
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Initialises weight and bias uniformly in +-1 / sqrt(in_features), as torch::nn::Linear does.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// x (..., in_features) -> (..., out_features)
  Tensor forward(const Tensor& x) { return functional::linear(x, weight, bias); }
  LinearOptions options;
  Tensor weight;  // (out_features, in_features)
  Tensor bias;    // (out_features); undefined if options.bias() is false
};
TANDEM_LIBRARY_MODULE(Linear);

/// Applies functional::bilinear with a weight (out_features, in1_features, in2_features).
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Initialises weight and bias uniformly in +-1 / sqrt(in1_features).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// x1 (..., in1_features), x2 (..., in2_features) -> (..., out_features)
  Tensor forward(const Tensor& x1, const Tensor& x2) { return functional::bilinear(x1, x2, weight, bias); }
  BilinearOptions options;
  Tensor weight;  // (out_features, in1_features, in2_features)
  Tensor bias;    // (out_features); undefined if options.bias() is false
};
TANDEM_LIBRARY_MODULE(Bilinear);

TANDEM_OPTION_MODULE(Flatten, FlattenOptions, = {}, x.flatten(options.start_dim(), options.end_dim()));
/// Splits one dimension into several: the inverse of Flatten.
TANDEM_TWO_OPTION_MODULE(Unflatten, int64_t, std::vector<int64_t>, x.unflatten(options.dim(), options.sizes()));

}  // namespace tandem::nn

namespace tandem {
using nn::functional::bilinear;
}  // namespace tandem
