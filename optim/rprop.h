// Rprop.
#pragma once
#include "tandem/optim/composed_optimizer.h"

namespace tandem::optim {

/// lr: every element's first step size; later changes of it do nothing. etas: what a step size is multiplied with when
/// the gradient's sign has changed, and when it has not. step_sizes: the smallest and the largest.
struct RpropOptions : OptimizerCloneableOptions<RpropOptions> {
  RpropOptions(double lr = 1e-2) : lr_(lr) {}
  using Pair = std::tuple<double, double>;
  TANDEM_ARG(double, lr);                         // the learning rate
  TANDEM_ARG(Pair, etas) = Pair(0.5, 1.2);        // factors of a step size after a change of sign, and without one
  TANDEM_ARG(Pair, step_sizes) = Pair(1e-6, 50);  // the least and the largest step size

 public:
  void visit(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<RpropOptions>;

/// Steps that follow the gradient's sign alone, each element with a step size of its own (Riedmiller and Braun 1993,
/// doi:10.1109/ICNN.1993.298623). For gradients of whole data sets. After a change of sign an element rests for one
/// step, as in PyTorch. State: "prev", "step_size".
/// @throws Error when lr is negative, or unless 0 < etas[0] < 1 < etas[1]
class Rprop : public detail::ComposedOptimizer {
 public:
  explicit Rprop(std::vector<OptimizerParamGroup> groups, const RpropOptions& defaults = {});
  explicit Rprop(std::vector<Tensor> parameters, const RpropOptions& defaults = {})
      : Rprop(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  double initial_value(const OptimizerOptions& options, size_t entry) const override;
  std::vector<Tensor> coefficients(const OptimizerOptions& options, const NumberTensors& numbers) const override;
  void update_parameter(const OptimizerOptions& options, Parameter& p) const override;
  void check_options(const OptimizerOptions& options) const override;
};

}  // namespace tandem::optim
