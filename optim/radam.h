// The optimizer RAdam.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// decoupled_weight_decay: if true, weight decay shrinks the parameter as in AdamW; otherwise it is added to the
/// gradient.
struct RAdamOptions : OptimizerCloneableOptions<RAdamOptions> {
  RAdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                            // learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);      // decay factors of the running means of gradients and squares
  TANDEM_ARG(double, eps) = 1e-8;                    // added to the divisor to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 0;              // weight_decay * parameter is added to the gradient
  TANDEM_ARG(bool, decoupled_weight_decay) = false;  // if true, weight decay shrinks the parameter, as in AdamW

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<RAdamOptions>;

/// Adam with a rectified learning rate while the mean of squares covers few gradients: in the first steps (rho at most
/// 5), only the mean gradient is used (Liu et al. 2020, arXiv:1908.03265). State: "exp_avg", "exp_avg_sq".
/// @throws Error if a setting is negative or a beta is not below 1
class RAdam : public detail::ComposedOptimizer {
 public:
  explicit RAdam(std::vector<OptimizerParamGroup> groups, const RAdamOptions& defaults = {});
  explicit RAdam(std::vector<Tensor> parameters, const RAdamOptions& defaults = {})
      : RAdam(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
