// Implements Adam and AdamW: options, state, and update by kernels that update all parameters of a group at once.
#include "tandem/optim/adam.h"

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/optim.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/optim/step_values.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<AdamOptions>;
void AdamOptions::visit_options(const Visitor& f) {
  detail::visit_adam_options(*this, f);
  f("amsgrad", &amsgrad());
}
template class OptimizerCloneableOptions<AdamWOptions>;
void AdamWOptions::visit_options(const Visitor& f) {
  detail::visit_adam_options(*this, f);
  f("amsgrad", &amsgrad());
}
namespace {

template <class Options> kernels::AdamValues make_adam_values(const Options& o) {
  constexpr bool decoupled = std::is_same_v<Options, AdamWOptions>;
  const auto [beta1, beta2] = o.betas();
  return {.lr = o.lr(),
          .beta1 = beta1,
          .beta2 = beta2,
          .one_minus_beta1 = 1 - beta1,
          .one_minus_beta2 = 1 - beta2,
          .eps = o.eps(),
          .weight_decay = decoupled ? 0 : o.weight_decay(),
          .decay_factor = decoupled ? 1 - o.lr() * o.weight_decay() : 1};
}

}  // namespace

void AdamBase::resize_state() {
  for (std::vector<Tensor>* state : {&steps_, &exp_avgs_, &exp_avg_sqs_, &max_exp_avg_sqs_}) state->resize(size());
}

template <class Options> void AdamBase::update_group(const Options& o, const OptimizerParamGroup& group, size_t first) {
  constexpr bool decoupled = std::is_same_v<Options, AdamWOptions>;
  struct Batch {
    std::vector<Tensor> gradients, steps, weights, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, half_copies;
  };
  // dtypes: of the parameters, the weights that are updated (master weights or the parameters), and the gradients
  std::map<std::tuple<Device, DType, DType, DType>, Batch> batches;
  for (size_t i = 0; i < group.params().size(); ++i) {
    const Tensor& p = group.params()[i];
    if (!detail::has_valid_grad(decoupled ? "AdamW" : "Adam", p)) continue;
    const size_t k = first + i;
    const Tensor master = master_weights(decoupled ? "AdamW" : "Adam", o, k), &w = master.defined() ? master : p;
    if (!steps_[k].defined()) {
      check_not_recorded(decoupled ? "AdamW" : "Adam",
                         "its first step allocates its state; run one step before the capture");
      steps_[k] = zeros({}, TensorOptions(kFloat32).device(p.device()));
      exp_avgs_[k] = zeros_like(w);
      exp_avg_sqs_[k] = zeros_like(w);
    }
    if (o.amsgrad() && !max_exp_avg_sqs_[k].defined()) max_exp_avg_sqs_[k] = zeros_like(w);
    steps_[k] = steps_[k].to(p.device());
    for (Tensor* state : {&exp_avgs_[k], &exp_avg_sqs_[k], &max_exp_avg_sqs_[k]})
      if (state->defined()) detail::move_state_to_parameter(*state, w);
    const Tensor gradient = detail::gradient_for(p, w.dtype());
    Batch& b = batches[{p.device(), p.dtype(), w.dtype(), gradient.dtype()}];
    b.gradients.push_back(gradient);
    b.steps.push_back(steps_[k]);
    b.weights.push_back(w);
    b.exp_avgs.push_back(exp_avgs_[k]);
    b.exp_avg_sqs.push_back(exp_avg_sqs_[k]);
    b.max_exp_avg_sqs.push_back(max_exp_avg_sqs_[k]);
    b.half_copies.push_back(master.defined() ? p : Tensor());
  }
  for (auto& entry : batches) {
    const Device device = std::get<Device>(entry.first);
    Batch& b = entry.second;
    const auto values = step_values(first, device);
    run_update([values, options = group.shared_options()] {
      values->write(make_adam_values(static_cast<const Options&>(*options)));
    });
    const Tensor scaling = gradient_scaling(device), numbers = values->with_scaling<kernels::AdamValues>(scaling);
    const Tensor found_inf = scaling.defined() ? scaling.select(0, 0) : Tensor();
    TANDEM_DISPATCH(device, add_to_all, 1, found_inf, b.steps);
    TANDEM_DISPATCH(device, adam, numbers, o.amsgrad(), b.gradients, b.steps, b.weights, b.exp_avgs, b.exp_avg_sqs,
                    b.max_exp_avg_sqs, b.half_copies);
    for (size_t i = 0; i < b.weights.size(); ++i)
      (b.half_copies[i].defined() ? b.half_copies : b.weights)[i].bump_version();
  }
}
std::vector<Optimizer::StateSlot> AdamBase::state_slots() {
  std::vector<StateSlot> out;
  for (size_t i = 0; i < size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    out.push_back({prefix + "step", parameters()[i], true, steps_[i]});
    out.push_back({prefix + "exp_avg", parameters()[i], false, exp_avgs_[i]});
    out.push_back({prefix + "exp_avg_sq", parameters()[i], false, exp_avg_sqs_[i]});
    out.push_back({prefix + "max_exp_avg_sq", parameters()[i], false, max_exp_avg_sqs_[i]});
  }
  return out;
}

Adam::Adam(std::vector<OptimizerParamGroup> groups, const AdamOptions& defaults) : AdamBase(defaults.clone()) {
  add_param_groups(std::move(groups));
}
void Adam::update(const OptimizerParamGroup& group, size_t first) {
  update_group(static_cast<const AdamOptions&>(group.options()), group, first);
}
void Adam::check_options(const OptimizerOptions& options) const {
  detail::check_adam_options<AdamOptions>("Adam", options);
}

AdamW::AdamW(std::vector<OptimizerParamGroup> groups, const AdamWOptions& defaults) : AdamBase(defaults.clone()) {
  add_param_groups(std::move(groups));
}
void AdamW::update(const OptimizerParamGroup& group, size_t first) {
  update_group(static_cast<const AdamWOptions&>(group.options()), group, first);
}
void AdamW::check_options(const OptimizerOptions& options) const {
  detail::check_adam_options<AdamWOptions>("AdamW", options);
}

}  // namespace tandem::optim
