// Implements NAdam: options, state and update, composed of tensor operations.
#include "tandem/optim/nadam.h"

#include "tandem/ops/ops.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<NAdamOptions>;
void NAdamOptions::visit_options(const Visitor& f) {
  detail::visit_adam_options(*this, f);
  f("momentum_decay", &momentum_decay());
  f("decoupled_weight_decay", &decoupled_weight_decay());
}

NAdam::NAdam(std::vector<OptimizerParamGroup> groups, const NAdamOptions& defaults)
    : ComposedOptimizer(
          "NAdam", {{"mu_product", /*scalar=*/true}, {"exp_avg"}, {"exp_avg_sq"}},
          [](const OptimizerOptions& options) {
            Hyperparameters numbers = read_adam_hyperparameters<NAdamOptions>(options);
            numbers.extra[0] = static_cast<const NAdamOptions&>(options).momentum_decay();
            return numbers;
          },
          defaults.clone()) {
  add_param_groups(std::move(groups));
}
void NAdam::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::check_adam_options<NAdamOptions>("NAdam", options);
  detail::check_not_negative("NAdam", "momentum_decay value", o.momentum_decay());
}
double NAdam::initial_value(const OptimizerOptions&, size_t entry) const { return entry == 0 ? 1 : 0; }

std::vector<Tensor> NAdam::coefficients(const OptimizerOptions&, const HyperparameterTensors& n) const {
  const Tensor& momentum_decay = n.extra[0];
  const Tensor base = full_like(momentum_decay, 0.96);
  const auto mu = [&](const Tensor& step) { return n.beta1 * (1 - base.pow(step * momentum_decay) * 0.5); };
  const Tensor correction2 = 1 - n.beta2.pow(n.steps), decay_factor = 1 - n.lr * n.weight_decay;
  return {n.lr,        n.weight_decay, n.eps,       1 - n.beta1,     n.beta2,
          1 - n.beta2, correction2,    mu(n.steps), mu(n.steps + 1), decay_factor};
}
void NAdam::update_parameter(const OptimizerOptions& options, Parameter& p) const {
  const auto& o = static_cast<const NAdamOptions&>(options);
  const std::vector<Tensor>& c = p.coefficients;
  const Tensor &lr = c[0], &eps = c[2], &one_minus_beta1 = c[3], &beta2 = c[4], &one_minus_beta2 = c[5],
               &correction2 = c[6], &mu = c[7], &mu_next = c[8], &decay_factor = c[9];
  Tensor &mu_product = p.state[0], &exp_avg = p.state[1], &exp_avg_sq = p.state[2];
  if (o.weight_decay() != 0 && o.decoupled_weight_decay()) p.value.mul_(decay_factor);
  const double added = o.decoupled_weight_decay() ? 0 : o.weight_decay();
  const Tensor g = detail::add_weight_decay(p.gradient, p.value, added, c[1]);

  mu_product.mul_(mu.to(kFloat32));  // PyTorch also rounds mu to float32 before the product
  exp_avg.add_((g - exp_avg).mul_(one_minus_beta1));
  exp_avg_sq.mul_(beta2).add_((g * g).mul_(one_minus_beta2));
  const Tensor scale = (exp_avg_sq / correction2).sqrt_().add_(eps);
  const Tensor product = mu_product.to(lr.dtype());
  p.value.sub_((g * (lr * (1 - mu) / (1 - product))).div_(scale));
  p.value.sub_((exp_avg * (lr * mu_next / (1 - product * mu_next))).div_(scale));
}

}  // namespace tandem::optim
