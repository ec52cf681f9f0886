#include "tandem/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/factory.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/nn.h"

namespace tandem::optim {
namespace {

/// The gradients that exist, and beside each its parameter and states, those made where missing.
bool ready(const char* op, const Tensor& p) {
  if (!p.grad().defined()) return false;
  TANDEM_CHECK(p.grad().sizes() == p.sizes() && p.grad().dtype() == p.dtype() && p.grad().device() == p.device(), op,
               ": a parameter of ", p.dtype(), p.sizes(), " on ", p.device(), " has a gradient of ", p.grad().dtype(),
               p.grad().sizes(), " on ", p.grad().device());
  TANDEM_CHECK(p.is_contiguous(), op, ": a parameter of ", p.sizes(), " is not contiguous");
  return true;
}
void check_range(const char* what, double value, double low, double high) {
  TANDEM_CHECK(value >= low && value <= high, what, " is ", value, "; accepted: ", low, " to ", high);
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  TANDEM_CHECK(!parameters_.empty(), "an optimizer needs at least one parameter");
  for (const Tensor& p : parameters_)
    TANDEM_CHECK(p.defined() && p.is_leaf(), "an optimizer's parameters must be leaves, not results of operations");
}
void Optimizer::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters_) p.zero_grad(set_to_none);
}
std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const Slot& slot : const_cast<Optimizer*>(this)->slots())
    if (slot.tensor.defined()) out.emplace_back(slot.name, slot.tensor);
  return out;
}
void Optimizer::load_state(const std::vector<std::pair<std::string, Tensor>>& state) {
  const NoGradGuard guard;
  const std::vector<Slot> slots = this->slots();
  std::vector<Tensor> loaded(slots.size());
  for (const auto& entry : state) {
    const auto& [name, tensor] = entry;
    const auto at =
        std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == entry.first; });
    TANDEM_CHECK(at != slots.end(), "load_state: '", name, "' has no place in this optimizer of ", parameters_.size(),
                 " parameters");
    const Shape sizes = at->scalar ? Shape() : Shape(at->parameter.sizes());
    TANDEM_CHECK(tensor.sizes() == sizes, "load_state: '", name, "' is ", tensor.sizes(), "; accepted: ", sizes);
    loaded[static_cast<size_t>(at - slots.begin())] =
        tensor.detach().to(at->parameter.device(), at->scalar ? kFloat32 : at->parameter.dtype()).clone();
  }
  for (size_t i = 0; i < slots.size(); ++i) slots[i].tensor = loaded[i];
}

SGD::SGD(std::vector<Tensor> parameters, SGDOptions o)
    : Optimizer(std::move(parameters)), options(std::move(o)), momenta_(parameters_.size()) {
  check_range("SGD: lr", options.lr(), 0, INFINITY);
  check_range("SGD: momentum", options.momentum(), 0, INFINITY);
  TANDEM_CHECK(!options.nesterov() || (options.momentum() > 0 && options.dampening() == 0),
               "SGD: nesterov needs a momentum above 0 and no dampening");
}
void SGD::step() {
  const NoGradGuard guard;
  struct Group {
    std::vector<Tensor> gradients, parameters, momenta;
  } groups[2];  // those whose momentum buffer begins with this step, and the others
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!ready("SGD", parameters_[i])) continue;
    const bool begins = options.momentum() != 0 && !momenta_[i].defined();
    if (begins) momenta_[i] = zeros_like(parameters_[i]);
    Group& g = groups[begins ? 0 : 1];
    g.gradients.push_back(parameters_[i].grad().contiguous());
    g.parameters.push_back(parameters_[i]);
    g.momenta.push_back(momenta_[i]);
  }
  for (const bool begins : {true, false}) {
    Group& g = groups[begins ? 0 : 1];
    if (g.parameters.empty()) continue;
    const kernels::SgdStep s{options.lr(),           options.momentum(), options.dampening(),
                             options.weight_decay(), options.nesterov(), begins};
    TANDEM_DISPATCH(g.parameters[0].device(), sgd, s, g.gradients, g.parameters, g.momenta);
    for (const Tensor& p : g.parameters) p.bump_version();
  }
}
std::vector<Optimizer::Slot> SGD::slots() {
  std::vector<Slot> out;
  for (size_t i = 0; i < momenta_.size(); ++i)
    out.push_back({std::to_string(i) + ".momentum_buffer", parameters_[i], false, momenta_[i]});
  return out;
}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions o, bool decoupled)
    : Optimizer(std::move(parameters)),
      options(std::move(o)),
      decoupled_(decoupled),
      steps_(parameters_.size()),
      exp_avgs_(parameters_.size()),
      exp_avg_sqs_(parameters_.size()),
      max_exp_avg_sqs_(parameters_.size()) {
  check_range("Adam: lr", options.lr(), 0, INFINITY);
  check_range("Adam: beta1", std::get<0>(options.betas()), 0, 1);
  check_range("Adam: beta2", std::get<1>(options.betas()), 0, 1);
}
void Adam::step() {
  const NoGradGuard guard;
  std::vector<Tensor> gradients, steps, parameters, exp_avgs, exp_avg_sqs, maxima;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    if (!ready("Adam", p)) continue;
    if (!steps_[i].defined()) {
      steps_[i] = zeros({}, TensorOptions(kFloat32).device(p.device()));
      exp_avgs_[i] = zeros_like(p);
      exp_avg_sqs_[i] = zeros_like(p);
      if (options.amsgrad()) max_exp_avg_sqs_[i] = zeros_like(p);
    }
    steps_[i].add_(1);
    gradients.push_back(p.grad().contiguous());
    steps.push_back(steps_[i]);
    parameters.push_back(p);
    exp_avgs.push_back(exp_avgs_[i]);
    exp_avg_sqs.push_back(exp_avg_sqs_[i]);
    maxima.push_back(max_exp_avg_sqs_[i]);
  }
  if (parameters.empty()) return;
  const auto [beta1, beta2] = options.betas();
  const kernels::AdamStep s{options.lr(),     beta1, beta2, options.eps(), options.weight_decay(), decoupled_,
                            options.amsgrad()};
  TANDEM_DISPATCH(parameters[0].device(), adam, s, gradients, steps, parameters, exp_avgs, exp_avg_sqs, maxima);
  for (const Tensor& p : parameters) p.bump_version();
}
std::vector<Optimizer::Slot> Adam::slots() {
  std::vector<Slot> out;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    out.push_back({prefix + "step", parameters_[i], true, steps_[i]});
    out.push_back({prefix + "exp_avg", parameters_[i], false, exp_avgs_[i]});
    out.push_back({prefix + "exp_avg_sq", parameters_[i], false, exp_avg_sqs_[i]});
    if (options.amsgrad()) out.push_back({prefix + "max_exp_avg_sq", parameters_[i], false, max_exp_avg_sqs_[i]});
  }
  return out;
}

}  // namespace tandem::optim
