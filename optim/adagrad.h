// The optimizer Adagrad.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// lr_decay: step t has the learning rate lr / (1 + (t - 1) * lr_decay). weight_decay times the parameter is added to
/// its gradient. initial_accumulator_value: initial value of the sums of squares. eps is added to their square roots.
struct AdagradOptions : OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(double, lr);                             // learning rate
  TANDEM_ARG(double, lr_decay) = 0;                   // the rate after n steps is lr / (1 + n * lr_decay)
  TANDEM_ARG(double, weight_decay) = 0;               // weight_decay * parameter is added to the gradient
  TANDEM_ARG(double, initial_accumulator_value) = 0;  // initial sum of squares
  TANDEM_ARG(double, eps) = 1e-10;                    // added to the divisor to avoid division by zero

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdagradOptions>;

/// Divides the learning rate of each element by the square root of the sum of all its squared gradients (Duchi, Hazan
/// and Singer 2011, JMLR 12:2121). State: "sum".
/// @throws Error if a setting is negative
class Adagrad : public detail::ComposedOptimizer {
 public:
  explicit Adagrad(std::vector<OptimizerParamGroup> groups, const AdagradOptions& defaults = {});
  explicit Adagrad(std::vector<Tensor> parameters, const AdagradOptions& defaults = {})
      : Adagrad(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  double initial_value(const OptimizerOptions& options, size_t entry) const override;
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
