// Implements RMSprop: options, state and update, composed of tensor operations.
#include "tandem/optim/rmsprop.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<RMSpropOptions>;
void RMSpropOptions::visit_options(const Visitor& f) {
  f("lr", &lr());
  f("alpha", &alpha());
  f("eps", &eps());
  f("weight_decay", &weight_decay());
  f("momentum", &momentum());
  f("centered", &centered());
}

RMSprop::RMSprop(std::vector<OptimizerParamGroup> groups, const RMSpropOptions& defaults)
    : ComposedOptimizer(
          "RMSprop", {{"square_avg"}, {"momentum_buffer"}, {"grad_avg"}},
          [](const OptimizerOptions& options) {
            const auto& o = static_cast<const RMSpropOptions&>(options);
            return Hyperparameters{
                .lr = o.lr(), .eps = o.eps(), .weight_decay = o.weight_decay(), .extra = {o.alpha(), o.momentum()}};
          },
          defaults.clone()) {
  add_param_groups(std::move(groups));
}
void RMSprop::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<RMSpropOptions>("RMSprop", options);
  detail::check_not_negative("RMSprop", "learning rate", o.lr());
  detail::check_not_negative("RMSprop", "alpha value", o.alpha());
  detail::check_not_negative("RMSprop", "epsilon value", o.eps());
  detail::check_not_negative("RMSprop", "weight_decay value", o.weight_decay());
  detail::check_not_negative("RMSprop", "momentum value", o.momentum());
}
bool RMSprop::needs_state(const OptimizerOptions& options, size_t entry) const {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  return entry == 0 || (entry == 1 ? o.momentum() > 0 : o.centered());
}

std::vector<Tensor> RMSprop::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor &alpha = n.extra[0], &momentum = n.extra[1];
  return {n.lr, n.weight_decay, n.eps, alpha, 1 - alpha, momentum};
}
void RMSprop::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &lr = c[0], &eps = c[2], &alpha = c[3], &rest = c[4], &momentum = c[5];
  Tensor &square_avg = p.state[0], &buffer = p.state[1], &grad_avg = p.state[2];
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, o.weight_decay(), c[1]);
  square_avg.mul_(alpha).add_((g * g).mul_(rest));
  Tensor scale;
  if (o.centered()) {
    grad_avg.add_((g - grad_avg).mul_(rest));
    scale = (square_avg - grad_avg * grad_avg).sqrt_().add_(eps);
  } else {
    scale = square_avg.sqrt().add_(eps);
  }
  if (o.momentum() > 0) {
    buffer.mul_(momentum).add_(g / scale);
    p.value.sub_(buffer * lr);
  } else {
    p.value.sub_((g * lr).div_(scale));
  }
}

}  // namespace tandem::optim
