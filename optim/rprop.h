// The optimizer Rprop.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// lr: initial step size of every element; later changes of lr have no effect. etas: factors of a step size if the
/// gradient's sign has changed, and if it has not. step_sizes: smallest and largest step size.
struct RpropOptions : OptimizerCloneableOptions<RpropOptions> {
  RpropOptions(double lr = 1e-2) : lr_(lr) {}
  using Pair = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                         // initial step size
  TANDEM_ARG(Pair, etas) = Pair(0.5, 1.2);        // factors of a step size if the gradient's sign changed, and if not
  TANDEM_ARG(Pair, step_sizes) = Pair(1e-6, 50);  // smallest and largest step size

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<RpropOptions>;

/// Steps that depend on the sign of the gradient only, with a step size for each element (Riedmiller and Braun 1993,
/// doi:10.1109/ICNN.1993.298623). Meant for gradients of whole data sets. As in PyTorch, an element whose gradient
/// changed its sign does not move in that step. State: "prev", "step_size".
/// @throws Error if lr is negative, or unless 0 < etas[0] < 1 < etas[1]
class Rprop : public detail::ComposedOptimizer {
 public:
  explicit Rprop(std::vector<OptimizerParamGroup> groups, const RpropOptions& defaults = {});
  explicit Rprop(std::vector<Tensor> parameters, const RpropOptions& defaults = {})
      : Rprop(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  double initial_value(const OptimizerOptions& options, size_t entry) const override;
  std::vector<Tensor> coefficients(const OptimizerOptions& options,
                                   const HyperparameterTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
