// The optimizer Adamax.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// betas: decay factors of the mean gradient and of the largest gradient. weight_decay times the parameter is added to
/// its gradient.
struct AdamaxOptions : OptimizerCloneableOptions<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                        // learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);  // decay factors of the mean gradient and of the largest gradient
  TANDEM_ARG(double, eps) = 1e-8;                // added to absolute gradients to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 0;          // weight_decay * parameter is added to the gradient

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdamaxOptions>;

/// Adam with a decaying maximum of past gradients instead of the mean of squares (Kingma and Ba 2015, arXiv:1412.6980,
/// section 7.1). State: "exp_avg", "exp_inf".
/// @throws Error if a setting is negative or a beta is not below 1
class Adamax : public detail::ComposedOptimizer {
 public:
  explicit Adamax(std::vector<OptimizerParamGroup> groups, const AdamaxOptions& defaults = {});
  explicit Adamax(std::vector<Tensor> parameters, const AdamaxOptions& defaults = {})
      : Adamax(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
