// Implements Adagrad: options, state and update, composed of tensor operations.
#include "tandem/optim/adagrad.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<AdagradOptions>;
void AdagradOptions::visit_options(const Visitor& f) {
  f("lr", &lr());
  f("lr_decay", &lr_decay());
  f("weight_decay", &weight_decay());
  f("initial_accumulator_value", &initial_accumulator_value());
  f("eps", &eps());
}

Adagrad::Adagrad(std::vector<OptimizerParamGroup> groups, const AdagradOptions& defaults)
    : ComposedOptimizer(
          "Adagrad", {{"sum"}},
          [](const OptimizerOptions& options) {
            const auto& o = static_cast<const AdagradOptions&>(options);
            return Hyperparameters{
                .lr = o.lr(), .eps = o.eps(), .weight_decay = o.weight_decay(), .extra = {o.lr_decay()}};
          },
          defaults.clone()) {
  add_param_groups(std::move(groups));
}
void Adagrad::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<AdagradOptions>("Adagrad", options);
  detail::check_not_negative("Adagrad", "learning rate", o.lr());
  detail::check_not_negative("Adagrad", "lr_decay value", o.lr_decay());
  detail::check_not_negative("Adagrad", "weight_decay value", o.weight_decay());
  detail::check_not_negative("Adagrad", "initial_accumulator_value value", o.initial_accumulator_value());
  detail::check_not_negative("Adagrad", "epsilon value", o.eps());
}
double Adagrad::initial_value(const OptimizerOptions& options, size_t) const {
  return static_cast<const AdagradOptions&>(options).initial_accumulator_value();
}

std::vector<Tensor> Adagrad::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor& lr_decay = n.extra[0];
  return {n.lr / ((n.steps - 1) * lr_decay + 1), n.weight_decay, n.eps};
}
void Adagrad::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const AdagradOptions&>(options);
  const Tensor &rate = p.coefficients[0], &eps = p.coefficients[2];
  Tensor& sum = p.state[0];
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, o.weight_decay(), p.coefficients[1]);
  sum.add_(g * g);
  p.value.sub_((g * rate).div_(sum.sqrt().add_(eps)));
}

}  // namespace tandem::optim
