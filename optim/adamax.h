// Adamax.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// betas: how much of themselves the average gradient and the largest one keep in a step. weight_decay times the
/// parameter is added to its gradient.
struct AdamaxOptions : OptimizerCloneableOptions<AdamaxOptions> {
  AdamaxOptions(double lr = 2e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                        // the learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);  // how much of the means of gradients and of squares a step keeps
  TANDEM_ARG(double, eps) = 1e-8;                // keeps the divisor from 0
  TANDEM_ARG(double, weight_decay) = 0;          // times the parameter, added to its gradient

 public:
  void visit(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdamaxOptions>;

/// Adam with the largest gradient so far, which decays, in place of the average square (Kingma and Ba 2015,
/// arXiv:1412.6980, section 7.1). State: "exp_avg", "exp_inf".
/// @throws Error when a setting is negative or a beta is not below 1
class Adamax : public detail::ComposedOptimizer {
 public:
  explicit Adamax(std::vector<OptimizerParamGroup> groups, const AdamaxOptions& defaults = {});
  explicit Adamax(std::vector<Tensor> parameters, const AdamaxOptions& defaults = {})
      : Adamax(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Tensor> coefficients(const OptimizerOptions& options, const NumberTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
