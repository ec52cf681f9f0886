// Implements Adamax: options, state and update, composed of tensor operations.
#include "tandem/optim/adamax.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<AdamaxOptions>;
void AdamaxOptions::visit_options(const Visitor& f) { detail::visit_adam_options(*this, f); }

Adamax::Adamax(std::vector<OptimizerParamGroup> groups, const AdamaxOptions& defaults)
    : ComposedOptimizer("Adamax", {{"exp_avg"}, {"exp_inf"}}, read_adam_hyperparameters<AdamaxOptions>,
                        defaults.clone()) {
  add_param_groups(std::move(groups));
}
void Adamax::check_options(const OptimizerOptions& options) const {
  detail::check_adam_options<AdamaxOptions>("Adamax", options);
}

std::vector<Tensor> Adamax::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  return {n.lr / (1 - n.beta1.pow(n.steps)), n.weight_decay, n.eps, 1 - n.beta1, n.beta2};
}
void Adamax::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const AdamaxOptions&>(options);
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &rate = c[0], &eps = c[2], &one_minus_beta1 = c[3], &beta2 = c[4];
  Tensor &exp_avg = p.state[0], &exp_inf = p.state[1];
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, o.weight_decay(), c[1]);
  exp_avg.add_((g - exp_avg).mul_(one_minus_beta1));
  exp_inf.copy_((exp_inf * beta2).maximum(g.abs().add_(eps)));
  p.value.sub_((exp_avg * rate).div_(exp_inf));
}

}  // namespace tandem::optim
