// RAdam.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// decoupled_weight_decay: weight decay shrinks the parameter as in AdamW; otherwise it is added to the gradient.
struct RAdamOptions : OptimizerCloneableOptions<RAdamOptions> {
  RAdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                            // the learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);      // how much of the means of gradients and of squares a step keeps
  TANDEM_ARG(double, eps) = 1e-8;                    // keeps the divisor from 0
  TANDEM_ARG(double, weight_decay) = 0;              // times the parameter, added to its gradient
  TANDEM_ARG(bool, decoupled_weight_decay) = false;  // whether weight decay is of the parameter itself, as in AdamW

 public:
  void visit(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<RAdamOptions>;

/// Adam whose rate is rectified while the average square has seen few gradients: until then (rho <= 5) a step is one of
/// momentum alone (Liu et al. 2020, arXiv:1908.03265). State: "exp_avg", "exp_avg_sq".
/// @throws Error when a setting is negative or a beta is not below 1
class RAdam : public detail::ComposedOptimizer {
 public:
  explicit RAdam(std::vector<OptimizerParamGroup> groups, const RAdamOptions& defaults = {});
  explicit RAdam(std::vector<Tensor> parameters, const RAdamOptions& defaults = {})
      : RAdam(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Tensor> coefficients(const OptimizerOptions& options, const NumberTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
