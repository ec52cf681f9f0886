// Implements RAdam: options, state and update, composed of tensor operations.
#include "tandem/optim/radam.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<RAdamOptions>;
void RAdamOptions::visit_options(const Visitor& f) {
  detail::visit_adam_options(*this, f);
  f("decoupled_weight_decay", &decoupled_weight_decay());
}

RAdam::RAdam(std::vector<OptimizerParamGroup> groups, const RAdamOptions& defaults)
    : ComposedOptimizer("RAdam", {{"exp_avg"}, {"exp_avg_sq"}}, read_adam_hyperparameters<RAdamOptions>,
                        defaults.clone()) {
  add_param_groups(std::move(groups));
}
void RAdam::check_options(const OptimizerOptions& options) const {
  detail::check_adam_options<RAdamOptions>("RAdam", options);
}

std::vector<Tensor> RAdam::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor power2 = n.beta2.pow(n.steps), correction2 = 1 - power2;
  const Tensor rho_inf = 2 / (1 - n.beta2) - 1;
  const Tensor rho = rho_inf - n.steps * power2 * 2 / correction2;  // length of the approximated simple moving average
  const Tensor rectified = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)).sqrt();
  const Tensor adaptive = (rho > 5).to(kFloat64);  // 1 if rho > 5; else 0, and `rectified` may be NaN
  const Tensor rate = n.lr / (1 - n.beta1.pow(n.steps));
  return {rate * where(rho > 5, rectified * correction2.sqrt(), 1),
          n.weight_decay,
          n.eps,
          1 - n.beta1,
          n.beta2,
          1 - n.beta2,
          adaptive,
          1 - n.lr * n.weight_decay};
}
void RAdam::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const RAdamOptions&>(options);
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &rate = c[0], &eps = c[2], &one_minus_beta1 = c[3], &beta2 = c[4], &one_minus_beta2 = c[5],
               &adaptive = c[6], &decay_factor = c[7];
  Tensor &exp_avg = p.state[0], &exp_avg_sq = p.state[1];
  if (o.weight_decay() != 0 && o.decoupled_weight_decay()) p.value.mul_(decay_factor);
  const double added = o.decoupled_weight_decay() ? 0 : o.weight_decay();
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, added, c[1]);

  exp_avg.add_((g - exp_avg).mul_(one_minus_beta1));
  exp_avg_sq.mul_(beta2).add_((g * g).mul_(one_minus_beta2));
  const Tensor scale = where(adaptive > 0, exp_avg_sq.sqrt().add_(eps), 1);
  p.value.sub_((exp_avg * rate).div_(scale));
}

}  // namespace tandem::optim
