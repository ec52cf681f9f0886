// The optimizer Adadelta.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

struct AdadeltaOptions : OptimizerCloneableOptions<AdadeltaOptions> {
  AdadeltaOptions(double lr = 1.0) : lr_(lr) {}
  TANDEM_ARG(double, lr);                // learning rate; multiplies each step
  TANDEM_ARG(double, rho) = 0.9;         // decay of the running means of squares
  TANDEM_ARG(double, eps) = 1e-6;        // added to the means of squares before their roots are taken
  TANDEM_ARG(double, weight_decay) = 0;  // weight_decay * parameter is added to the gradient

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<AdadeltaOptions>;

/// Divides the gradient by its root mean square, and multiplies it by the root mean square of previous steps (Zeiler
/// 2012, arXiv:1212.5701). State: "square_avg", "acc_delta".
/// @throws Error if a setting is negative or rho is above 1
class Adadelta : public detail::ComposedOptimizer {
 public:
  explicit Adadelta(std::vector<OptimizerParamGroup> groups, const AdadeltaOptions& defaults = {});
  explicit Adadelta(std::vector<Tensor> parameters, const AdadeltaOptions& defaults = {})
      : Adadelta(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
