// Implements Adadelta: options, state and update, composed of tensor operations.
#include "tandem/optim/adadelta.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<AdadeltaOptions>;
void AdadeltaOptions::visit_options(const Visitor& f) {
  f("lr", &lr());
  f("rho", &rho());
  f("eps", &eps());
  f("weight_decay", &weight_decay());
}

Adadelta::Adadelta(std::vector<OptimizerParamGroup> groups, const AdadeltaOptions& defaults)
    : ComposedOptimizer(
          "Adadelta", {{"square_avg"}, {"acc_delta"}},
          [](const OptimizerOptions& options) {
            const auto& o = static_cast<const AdadeltaOptions&>(options);
            return Hyperparameters{.lr = o.lr(), .eps = o.eps(), .weight_decay = o.weight_decay(), .extra = {o.rho()}};
          },
          defaults.clone()) {
  add_param_groups(std::move(groups));
}
void Adadelta::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<AdadeltaOptions>("Adadelta", options);
  detail::check_not_negative("Adadelta", "learning rate", o.lr());
  TANDEM_CHECK(o.rho() >= 0 && o.rho() <= 1, "Adadelta: Invalid rho value: ", o.rho(),
               "; accepted: 0 to 1, both included");
  detail::check_not_negative("Adadelta", "epsilon value", o.eps());
  detail::check_not_negative("Adadelta", "weight_decay value", o.weight_decay());
}

std::vector<Tensor> Adadelta::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor& rho = n.extra[0];
  return {n.lr, n.weight_decay, n.eps, rho, 1 - rho};
}
void Adadelta::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const AdadeltaOptions&>(options);
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &lr = c[0], &eps = c[2], &rho = c[3], &rest = c[4];
  Tensor &square_avg = p.state[0], &acc_delta = p.state[1];
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, o.weight_decay(), c[1]);
  square_avg.mul_(rho).add_((g * g).mul_(rest));
  const Tensor delta = (acc_delta + eps).sqrt_().div_((square_avg + eps).sqrt_()).mul_(g);
  acc_delta.mul_(rho).add_((delta * delta).mul_(rest));
  p.value.sub_(delta * lr);
}

}  // namespace tandem::optim
