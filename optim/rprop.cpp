// Implements Rprop: options, state and update, composed of tensor operations.
#include "tandem/optim/rprop.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<RpropOptions>;
void RpropOptions::visit_options(const Visitor& f) {
  f("lr", &lr());
  f("etaminus", &std::get<0>(etas()));
  f("etaplus", &std::get<1>(etas()));
  f("step_size_min", &std::get<0>(step_sizes()));
  f("step_size_max", &std::get<1>(step_sizes()));
}

Rprop::Rprop(std::vector<OptimizerParamGroup> groups, const RpropOptions& defaults)
    : ComposedOptimizer(
          "Rprop", {{"prev"}, {"step_size"}},
          [](const OptimizerOptions& options) {
            const auto& o = static_cast<const RpropOptions&>(options);
            return Hyperparameters{.lr = o.lr(),
                                   .beta1 = std::get<0>(o.etas()),
                                   .beta2 = std::get<1>(o.etas()),
                                   .extra = {std::get<0>(o.step_sizes()), std::get<1>(o.step_sizes())}};
          },
          defaults.clone()) {
  add_param_groups(std::move(groups));
}
void Rprop::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<RpropOptions>("Rprop", options);
  detail::check_not_negative("Rprop", "learning rate", o.lr());
  const auto [minus, plus] = o.etas();
  TANDEM_CHECK(0 < minus && minus < 1 && 1 < plus, "Rprop: Invalid eta values: ", minus, ", ", plus,
               "; accepted: 0 < the first < 1 < the second");
}
double Rprop::initial_value(const OptimizerOptions& options, size_t entry) const {
  return entry == 0 ? 0 : options.get_lr();
}

std::vector<Tensor> Rprop::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor &minus = n.beta1, &plus = n.beta2, &smallest = n.extra[0], &largest = n.extra[1];
  return {minus, plus, smallest, largest, full_like(minus, 1)};
}
void Rprop::update_parameter(const OptimizerOptions&, Parameter& p) const {
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &minus = c[0], &plus = c[1], &smallest = c[2], &largest = c[3], &one = c[4];
  Tensor &prev = p.state[0], &step_size = p.state[1];
  const Tensor agreement = p.gradient * prev, sign_changed = agreement < 0;
  const Tensor factor = where(sign_changed, minus, where(agreement > 0, plus, one));
  step_size.copy_((step_size * factor).maximum(smallest).minimum(largest));
  prev.copy_(where(sign_changed, 0, p.gradient));
  p.value.sub_(prev.sign().mul_(step_size));
}

}  // namespace tandem::optim
