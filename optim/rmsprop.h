// The optimizer RMSprop.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// alpha: decay of the running mean of squares. eps: added to the square root of that mean. centered: if true, the
/// square of the mean gradient is subtracted from the mean of squares, which leaves the variance. weight_decay times
/// the parameter is added to its gradient.
struct RMSpropOptions : OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(double, lr);                // learning rate
  TANDEM_ARG(double, alpha) = 0.99;      // decay of the running mean of squares
  TANDEM_ARG(double, eps) = 1e-8;        // added to the divisor to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 0;  // weight_decay * parameter is added to the gradient
  TANDEM_ARG(double, momentum) = 0;      // factor of the previous update in the next one
  TANDEM_ARG(bool, centered) = false;    // if true, divides by the standard deviation of the gradient

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<RMSpropOptions>;

/// Divides the gradient by the square root of a running mean of its squares (Hinton 2012, lecture 6 of "Neural networks
/// for machine learning"; centered: Graves 2013, arXiv:1308.0850). As in PyTorch, eps is added after the root is taken.
/// State: "square_avg", "momentum_buffer" with momentum, "grad_avg" if centered.
/// @throws Error if a setting is negative
class RMSprop : public detail::ComposedOptimizer {
 public:
  explicit RMSprop(std::vector<OptimizerParamGroup> groups, const RMSpropOptions& defaults = {});
  explicit RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& defaults = {})
      : RMSprop(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  bool needs_state(const OptimizerOptions& options, size_t entry) const override;
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
