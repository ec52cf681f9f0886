// ComposedOptimizer: creates the state, groups parameters by device and dtype, and converts half types around a step.
#include "tandem/optim/composed_optimizer.h"

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/optim.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/step_values.h"
#include "tandem/optim/update.h"

namespace tandem::optim::detail {
namespace {

/// Returns the tensor on which a step computes: t, or a float32 copy if t is of a half type. A 0-dim tensor gets a
/// dimension, because otherwise a coefficient of another dtype would change the dtype of its results.
Tensor to_compute_tensor(const Tensor& t) {
  const Tensor wide = is_reduced_floating_point(t.dtype()) ? t.to(kFloat32) : t;
  return wide.dim() == 0 ? wide.view({1}) : wide;
}
/// Copies the result of a step to the tensor that it was computed for, unless `skip` (0-dim bool) is true. Does nothing
/// if the step was computed in place.
void store_result(const Tensor& result, const Tensor& skip, Tensor to) {
  if (result.storage() == to.storage()) return;
  const Tensor sized = result.view(to.sizes());
  to.copy_(skip.defined() ? where(skip, to, sized.to(to.dtype())) : sized);
}

}  // namespace

ComposedOptimizer::ComposedOptimizer(const char* name, std::vector<StateEntry> entries, ReadHyperparameters numbers,
                                     std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::move(defaults)), name_(name), entries_(std::move(entries)), read_hyperparameters_(numbers) {}

bool ComposedOptimizer::needs_state(const OptimizerOptions&, size_t) const { return true; }
double ComposedOptimizer::initial_value(const OptimizerOptions&, size_t) const { return 0; }

void ComposedOptimizer::resize_state() {
  steps_.resize(size());
  state_.resize(size(), std::vector<Tensor>(entries_.size()));
}

void ComposedOptimizer::init_state(const OptimizerOptions& options, const Tensor& weights, size_t k) {
  const auto make = [&](Tensor& t, bool is_scalar, double value) {
    if (t.defined()) {
      if (is_scalar)
        t = t.to(weights.device());
      else
        move_state_to_parameter(t, weights);
      return;
    }
    check_not_recorded(name_, "its first step allocates its state; run one step before the capture");
    t = is_scalar ? full({}, value, TensorOptions(kFloat32).device(weights.device())) : full_like(weights, value);
  };
  make(steps_[k], true, 0);
  for (size_t e = 0; e < entries_.size(); ++e)
    if (state_[k][e].defined() || needs_state(options, e))
      make(state_[k][e], entries_[e].is_scalar, initial_value(options, e));
}

void ComposedOptimizer::update(const OptimizerParamGroup& group, size_t first) {
  std::map<std::pair<Device, DType>, std::vector<Member>> batches;
  for (size_t i = 0; i < group.params().size(); ++i) {
    const Tensor& p = group.params()[i];
    if (!has_valid_grad(name_, p)) continue;
    const Tensor master = master_weights(name_, group.options(), first + i), &weights = master.defined() ? master : p;
    init_state(group.options(), weights, first + i);
    batches[{p.device(), weights.dtype()}].push_back({i, weights});
  }
  for (const auto& entry : batches) update_batch(group, first, entry.second);
}

/// @param members  parameters of the group that share one device, and weights of one dtype
void ComposedOptimizer::update_batch(const OptimizerParamGroup& group, size_t first,
                                     const std::vector<Member>& members) {
  const Tensor& any = members.front().weights;
  const Device device = any.device();
  const OptimizerOptions& options = group.options();
  const auto values = step_values(first, device, static_cast<int>(any.dtype()));
  run_update([values, read = read_hyperparameters_, shared = group.shared_options()] { values->write(read(*shared)); });

  std::vector<Tensor> steps;
  steps.reserve(members.size());
  for (const Member& member : members) steps.push_back(steps_[first + member.index]);
  const Tensor scaling = gradient_scaling(device), found_inf = scaling.defined() ? scaling.select(0, 0) : Tensor();
  const Tensor skip = scaling.defined() ? found_inf != 0 : Tensor();
  TANDEM_DISPATCH(device, add_to_all, 1, found_inf, steps);
  const auto number = [&](int64_t i) { return values->memory().select(0, i); };
  const HyperparameterTensors numbers{number(0),
                                      number(1),
                                      number(2),
                                      number(3),
                                      number(4),
                                      {number(5), number(6), number(7)},
                                      stack(steps).to(kFloat64)};
  std::vector<Tensor> coefficients = this->coefficients(options, numbers);
  const DType dtype = any.dtype() == kFloat64 ? kFloat64 : kFloat32;
  for (Tensor& c : coefficients) c = c.to(dtype);

  for (size_t m = 0; m < members.size(); ++m) {
    const Tensor &p = group.params()[members[m].index], &weights = members[m].weights;
    std::vector<Tensor>& state = state_[first + members[m].index];
    // A step that may be skipped is computed on copies. Tensors of half types are computed on float32 copies anyway.
    const auto compute_tensor = [&](const Tensor& t) {
      const Tensor out = to_compute_tensor(t);
      return skip.defined() && out.storage() == t.storage() ? out.clone() : out;
    };
    // The program has changed those elements of the parameter that are not the rounded master weight.
    Parameter compute{weights.is_same(p)
                          ? compute_tensor(p)
                          : to_compute_tensor(where(weights.to(p.dtype()) == p, weights, p.to(kFloat32))),
                      to_compute_tensor(p.grad()).to(dtype),
                      {},
                      {}};
    if (skip.defined()) compute.gradient = compute.gradient * scaling.select(0, 1);
    for (size_t e = 0; e < entries_.size(); ++e)
      compute.state.push_back(!state[e].defined()                       ? Tensor()
                              : entries_[e].is_scalar && skip.defined() ? state[e].clone()
                              : entries_[e].is_scalar                   ? state[e]
                                                                        : compute_tensor(state[e]));
    for (const Tensor& c : coefficients)
      compute.coefficients.push_back(c.dim() == 0 ? c : c.select(0, static_cast<int64_t>(m)));
    update_parameter(options, compute);
    store_result(compute.value, skip, weights);
    for (size_t e = 0; e < entries_.size(); ++e)
      if (state[e].defined()) store_result(compute.state[e], skip, state[e]);
    if (!weights.is_same(p)) Tensor(p).copy_(weights);
  }
}

std::vector<Optimizer::StateSlot> ComposedOptimizer::state_slots() {
  std::vector<StateSlot> out;
  for (size_t i = 0; i < size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    out.push_back({prefix + "step", parameters()[i], true, steps_[i]});
    for (size_t e = 0; e < entries_.size(); ++e)
      out.push_back({prefix + entries_[e].name, parameters()[i], entries_[e].is_scalar, state_[i][e]});
  }
  return out;
}

Tensor add_weight_decay(const Tensor& gradient, const Tensor& value, double decay, const Tensor& decay_coefficient) {
  return decay == 0 ? gradient : gradient + value * decay_coefficient;
}

}  // namespace tandem::optim::detail
