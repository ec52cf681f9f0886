// The optimizer NAdam.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// momentum_decay: how fast the momentum approaches beta1. decoupled_weight_decay: if true, weight decay shrinks the
/// parameter as in AdamW; otherwise it is added to the gradient.
struct NAdamOptions : OptimizerCloneableOptions<NAdamOptions> {
  NAdamOptions(double lr = 2e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                            // learning rate
  TANDEM_ARG(Betas, betas) = Betas(0.9, 0.999);      // decay factors of the running means of gradients and squares
  TANDEM_ARG(double, eps) = 1e-8;                    // added to the divisor to avoid division by zero
  TANDEM_ARG(double, weight_decay) = 0;              // weight_decay * parameter is added to the gradient
  TANDEM_ARG(double, momentum_decay) = 4e-3;         // how fast the momentum approaches beta1
  TANDEM_ARG(bool, decoupled_weight_decay) = false;  // if true, weight decay shrinks the parameter, as in AdamW

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<NAdamOptions>;

/// Adam with Nesterov's momentum (Dozat 2016, ICLR workshop, "Incorporating Nesterov momentum into Adam"). State:
/// "mu_product", a float32 number as in PyTorch, "exp_avg", "exp_avg_sq".
/// @throws Error if a setting is negative or a beta is not below 1
class NAdam : public detail::ComposedOptimizer {
 public:
  explicit NAdam(std::vector<OptimizerParamGroup> groups, const NAdamOptions& defaults = {});
  explicit NAdam(std::vector<Tensor> parameters, const NAdamOptions& defaults = {})
      : NAdam(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  double initial_value(const OptimizerOptions& options, size_t entry) const override;
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
