// Implements SGD: options, momentum buffers, and update by kernels that update all parameters of a group at once.
#include "tandem/optim/sgd.h"

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/optim.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/optim/step_values.h"
#include "tandem/optim/update.h"

namespace tandem::optim {
template class OptimizerCloneableOptions<SGDOptions>;
void SGDOptions::visit_options(const Visitor& f) {
  f("lr", &lr());
  f("momentum", &momentum());
  f("dampening", &dampening());
  f("weight_decay", &weight_decay());
  f("nesterov", &nesterov());
}

SGD::SGD(std::vector<OptimizerParamGroup> groups, const SGDOptions& defaults) : Optimizer(defaults.clone()) {
  add_param_groups(std::move(groups));
}
void SGD::check_options(const OptimizerOptions& options) const {
  const auto& o = detail::cast_options<SGDOptions>("SGD", options);
  detail::check_not_negative("SGD", "learning rate", o.lr());
  detail::check_not_negative("SGD", "momentum value", o.momentum());
  detail::check_not_negative("SGD", "weight_decay value", o.weight_decay());
  TANDEM_CHECK(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0),
               "SGD: Nesterov momentum requires a momentum and zero dampening, got momentum ", o.momentum(),
               " and dampening ", o.dampening());
}
void SGD::resize_state() { momenta_.resize(size()); }

void SGD::update(const OptimizerParamGroup& group, size_t first) {
  const auto& o = static_cast<const SGDOptions&>(group.options());
  struct Batch {
    std::vector<Tensor> gradients, weights, momenta, half_copies;
  };
  // key: device; dtypes of the parameters, of the weights that are updated (master weights or the parameters) and of
  // the gradients; whether this step creates the momentum buffers
  std::map<std::tuple<Device, DType, DType, DType, bool>, Batch> batches;
  std::map<Device, bool> is_skipped;  // read from the device only if a momentum buffer is new and there is dampening
  const auto is_skipped_on = [&](Device device) {
    const Tensor scaling = gradient_scaling(device);
    if (!scaling.defined()) return false;
    const auto [at, is_new] = is_skipped.try_emplace(device, false);
    if (is_new) at->second = scaling.select(0, 0).item<float>() != 0;
    return at->second;
  };
  for (size_t i = 0; i < group.params().size(); ++i) {
    const Tensor& p = group.params()[i];
    if (!detail::has_valid_grad("SGD", p)) continue;
    const Tensor master = master_weights("SGD", o, first + i), &w = master.defined() ? master : p;
    Tensor& momentum = momenta_[first + i];
    const bool is_first_step = o.momentum() != 0 && !momentum.defined();
    if (is_first_step) {
      check_not_recorded("SGD", "its first step allocates the momentum buffers; run one step before the capture");
      // A skipped step would leave zeros in the buffer, and the next step is not a first one. That matters only with
      // dampening.
      if (o.dampening() != 0 && is_skipped_on(p.device())) continue;
      momentum = zeros_like(w);
    }
    if (momentum.defined()) detail::move_state_to_parameter(momentum, w);
    const Tensor gradient = detail::gradient_for(p, w.dtype());
    Batch& b = batches[{p.device(), p.dtype(), w.dtype(), gradient.dtype(), is_first_step}];
    b.gradients.push_back(gradient);
    b.weights.push_back(w);
    b.momenta.push_back(momentum);
    b.half_copies.push_back(master.defined() ? p : Tensor());
  }
  for (auto& entry : batches) {
    const Device device = std::get<Device>(entry.first);
    const bool is_first_step = std::get<bool>(entry.first);
    Batch& b = entry.second;
    const auto values = step_values(first, device, is_first_step);
    values->is_first_step = is_first_step;
    run_update([values, options = group.shared_options()] {
      const auto& now = static_cast<const SGDOptions&>(*options);
      // In the first step, the momentum buffer holds zeros and becomes the gradient itself, without dampening.
      const bool first_step = std::exchange(values->is_first_step, false);
      values->write(kernels::SgdValues{.lr = now.lr(),
                                       .momentum = now.momentum(),
                                       .weight_decay = now.weight_decay(),
                                       .buffer_factor = first_step ? 0 : now.momentum(),
                                       .grad_factor = first_step ? 1 : 1 - now.dampening()});
    });
    const Tensor numbers = values->with_scaling<kernels::SgdValues>(gradient_scaling(device));
    TANDEM_DISPATCH(device, sgd, numbers, o.momentum() != 0, o.nesterov(), b.gradients, b.weights, b.momenta,
                    b.half_copies);
    for (size_t i = 0; i < b.weights.size(); ++i)
      (b.half_copies[i].defined() ? b.half_copies : b.weights)[i].bump_version();
  }
}
std::vector<Optimizer::StateSlot> SGD::state_slots() {
  std::vector<StateSlot> out;
  for (size_t i = 0; i < momenta_.size(); ++i)
    out.push_back({std::to_string(i) + ".momentum_buffer", parameters()[i], false, momenta_[i]});
  return out;
}

}  // namespace tandem::optim
