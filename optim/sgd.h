// The optimizer SGD: stochastic gradient descent.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct SGDOptions : OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(double, lr);                // learning rate
  TANDEM_ARG(double, momentum) = 0;      // factor of the previous update in the next one
  TANDEM_ARG(double, dampening) = 0;     // (1 - dampening) * gradient is added to the momentum buffer
  TANDEM_ARG(double, weight_decay) = 0;  // weight_decay * parameter is added to the gradient
  TANDEM_ARG(bool, nesterov) = false;    // if true, uses Nesterov's momentum

 public:
  void visit_options(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<SGDOptions>;

/// Stochastic gradient descent, with or without momentum. As in PyTorch, the momentum buffer starts as the first
/// gradient.
/// @throws Error if lr, momentum or weight_decay is negative, or for nesterov without momentum or with dampening
class SGD : public Optimizer {
 public:
  SGD(std::vector<OptimizerParamGroup> groups, const SGDOptions& defaults);
  SGD(std::vector<Tensor> parameters, const SGDOptions& defaults)
      : SGD(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<StateSlot> state_slots() override;
  void update(const OptimizerParamGroup& group, size_t first) override;
  void resize_state() override;
  bool supports_found_inf() const override { return true; }
  void check_options(const OptimizerOptions& options) const override;
  std::vector<Tensor> momenta_;
};

}  // namespace tandem::optim
