// Stochastic gradient descent.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct SGDOptions : OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(double, lr);                // the learning rate
  TANDEM_ARG(double, momentum) = 0;      // how much of the last update goes into the next
  TANDEM_ARG(double, dampening) = 0;     // how much of a gradient the momentum leaves out
  TANDEM_ARG(double, weight_decay) = 0;  // times the parameter, added to its gradient
  TANDEM_ARG(bool, nesterov) = false;    // whether it is Nesterov's momentum

 public:
  void visit(const Visitor& f) override;
};
extern template class OptimizerCloneableOptions<SGDOptions>;

/// With momentum, the buffer's first value is the gradient itself, as in PyTorch.
class SGD : public Optimizer {
 public:
  SGD(std::vector<OptimizerParamGroup> groups, const SGDOptions& defaults);
  SGD(std::vector<Tensor> parameters, const SGDOptions& defaults)
      : SGD(std::vector<OptimizerParamGroup>{std::move(parameters)}, defaults) {}

 private:
  std::vector<Slot> slots() override;
  void update(const OptimizerParamGroup& group, size_t first) override;
  void resize_state() override;
  void check_options(const OptimizerOptions& options) const override;
  std::vector<Tensor> momenta_;
};

}  // namespace tandem::optim
