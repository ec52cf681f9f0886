// Implements Optimizer and OptimizerParamGroup: parameter groups and their defaults, step(), zero_grad(), and saving
// and loading of state.
#include "tandem/optim/optimizer.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <typeinfo>

#include "tandem/core/loop/run_loop.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/step_values.h"
#include "tandem/optim/update.h"

namespace tandem::optim {

OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
    : params_(std::move(params)), options_(std::move(options)) {}
OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_),
      options_(other.options_ ? other.options_->clone() : nullptr),
      initial_lr_(other.initial_lr_) {}
std::shared_ptr<const OptimizerOptions> OptimizerParamGroup::shared_options() const { return options_; }
void OptimizerParamGroup::set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
OptimizerParamGroup::OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
OptimizerParamGroup& OptimizerParamGroup::operator=(OptimizerParamGroup&&) noexcept = default;
OptimizerParamGroup::~OptimizerParamGroup() = default;
OptimizerOptions& OptimizerParamGroup::options() {
  TANDEM_CHECK(options_,
               "OptimizerParamGroup: this group has no options yet; set_options() or adding the group to an optimizer "
               "sets them");
  return *options_;
}
OptimizerParamGroup OptimizerParamGroup::subgroup(size_t begin, size_t count) const {
  const auto first = params_.begin() + static_cast<std::ptrdiff_t>(begin);
  OptimizerParamGroup out(std::vector<Tensor>(first, first + static_cast<std::ptrdiff_t>(count)));
  out.options_ = options_;
  return out;
}
double OptimizerParamGroup::initial_lr() {
  if (!initial_lr_) initial_lr_ = options().get_lr();
  return *initial_lr_;
}

Optimizer::Optimizer(std::unique_ptr<OptimizerOptions> defaults) : defaults_(std::move(defaults)) {}
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;
void Optimizer::set_step_owner(std::string owner) { step_owner_ = std::move(owner); }

std::shared_ptr<detail::StepValues> Optimizer::step_values(size_t first, Device device, int part) {
  std::shared_ptr<detail::StepValues>& mine = step_values_[{first, device, part}];
  if (!mine) mine = std::make_shared<detail::StepValues>(device);
  return mine;
}

namespace {
using Values = std::map<std::string, std::variant<double, bool>>;
Values read_option_values(OptimizerOptions& options) {
  Values values;
  options.visit_options(
      [&](const std::string& name, auto setting) { std::visit([&](auto* value) { values[name] = *value; }, setting); });
  return values;
}
/// For each option of a group that still has its default value, takes the optimizer's value instead.
void inherit_defaults(OptimizerOptions& options, OptimizerOptions& defaults) {
  const std::unique_ptr<OptimizerOptions> default_options = options.default_options();
  if (!default_options) return;
  const Values given = read_option_values(options), base = read_option_values(*default_options),
               wanted = read_option_values(defaults);
  // Pairs of numbers that form one option in PyTorch. If one number of a pair is set, the other counts as set too.
  static const auto& partners = *new std::map<std::string, std::string>{{"beta1", "beta2"},
                                                                        {"beta2", "beta1"},
                                                                        {"etaminus", "etaplus"},
                                                                        {"etaplus", "etaminus"},
                                                                        {"step_size_min", "step_size_max"},
                                                                        {"step_size_max", "step_size_min"}};
  options.visit_options([&](const std::string& name, auto setting) {
    const auto partner = partners.find(name);
    if (given.at(name) != base.at(name)) return;
    if (partner != partners.end() && given.at(partner->second) != base.at(partner->second)) return;
    std::visit([&]<class T>(T* value) { *value = std::get<T>(wanted.at(name)); }, setting);
  });
  if (defaults.get_master_weights()) options.set_master_weights(true);
}
}  // namespace

void Optimizer::add_param_group(OptimizerParamGroup group) {
  if (!group.has_options()) {
    group.set_options(defaults_->clone());
  } else {
    check_options(group.options());
    inherit_defaults(group.options(), *defaults_);
  }
  check_options(group.options());
  std::set<const TensorImpl*> known;
  for (const Tensor& p : parameters_) known.insert(p.impl());
  for (const Tensor& p : group.params()) {
    TANDEM_CHECK(p.defined(), "can't optimize an undefined Tensor");
    TANDEM_CHECK(p.is_leaf(), "can't optimize a non-leaf Tensor; a parameter of ", p.sizes(),
                 " is the result of an operation");
    TANDEM_CHECK(known.insert(p.impl()).second,
                 "some parameters appear in more than one parameter group, or twice in one: a parameter of ", p.sizes(),
                 " would be updated twice");
  }
  parameters_.insert(parameters_.end(), group.params().begin(), group.params().end());
  groups_.push_back(std::move(group));
  master_weights_.resize(parameters_.size());
  resize_state();
}
void Optimizer::add_param_groups(std::vector<OptimizerParamGroup> groups) {
  for (OptimizerParamGroup& group : groups) add_param_group(std::move(group));
  TANDEM_CHECK(!parameters_.empty(), "optimizer got an empty parameter list");
}

/// Returns the class of an optimizer without its namespace, such as "Adam".
static std::string class_name(const Optimizer& optimizer) {
  int status = 0;
  char* const text = abi::__cxa_demangle(typeid(optimizer).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : typeid(optimizer).name();
  std::free(text);
  name = name.substr(0, name.find('<'));
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

Tensor Optimizer::step(const LossClosure& closure) {
  TANDEM_CHECK(step_owner_.empty(), "Optimizer::step: ", step_owner_,
               " already steps this optimizer; do not call step()");
  Tensor loss;
  if (closure) {
    const EnableGradGuard guard;
    loss = closure();
  }
  detail::warn_if_ranks_never_communicate();
  const NoGradGuard guard;
  const PhaseSpan phase("optimizer");
  const OpSpan span([&] { return class_name(*this) + ".step"; });
  size_t first = 0;
  for (const OptimizerParamGroup& group : groups_) {
    update(group, first);
    first += group.params().size();
  }
  return loss;
}
void Optimizer::step_unless(const Tensor& found_inf, const Tensor& gradient_factor) {
  if (!supports_found_inf()) {
    TANDEM_CHECK(!gradient_factor.defined(), class_name(*this), "::step_unless: Attempting to unscale FP16 gradients. ",
                 "This optimizer does not multiply gradients; accepted: gradients of other dtypes");
    if (found_inf.item<float>() == 0) step();
    return;
  }
  struct Reset {
    std::map<Device, Tensor>& scaling;
    ~Reset() { scaling.clear(); }
  };
  const Reset reset{gradient_scaling_};
  {
    const NoGradGuard guard;
    const Tensor factor = gradient_factor.defined() ? gradient_factor : ones_like(found_inf);
    gradient_scaling_[found_inf.device()] = cat({found_inf.view({1}), factor.to(found_inf.device()).view({1})});
  }
  step();
}
Tensor Optimizer::gradient_scaling(Device device) {
  if (gradient_scaling_.empty()) return {};
  Tensor& mine = gradient_scaling_[device];
  if (!mine.defined())
    for (const auto& entry : gradient_scaling_)
      if (entry.second.defined()) mine = entry.second.to(device);
  return mine;
}
Tensor Optimizer::master_weights(const char* op, const OptimizerOptions& options, size_t k) {
  Tensor& weights = master_weights_[k];
  if (!options.get_master_weights() || !is_reduced_floating_point(parameters_[k].dtype())) return weights = {};
  const Tensor p = parameters_[k].detach();
  if (!weights.defined())
    check_not_recorded(op, "its first step allocates the master weights; run one step before the capture");
  weights = detail::match_strides((weights.defined() ? weights : p).to(p.device(), kFloat32), p);
  return weights;
}
void Optimizer::step_parameters(std::vector<size_t> numbers) {
  const NoGradGuard guard;
  const OpSpan span([&] { return class_name(*this) + ".step"; });
  std::sort(numbers.begin(), numbers.end());
  TANDEM_CHECK(numbers.empty() || numbers.back() < parameters_.size(),
               "Optimizer::step_parameters: there is no parameter ", numbers.back(), "; accepted: indices from 0 to ",
               parameters_.size() - 1);
  size_t first = 0, at = 0;
  for (const OptimizerParamGroup& group : groups_) {
    const size_t end = first + group.params().size();
    while (at < numbers.size() && numbers[at] < end) {  // updates consecutive parameters together
      const size_t from = at++;
      while (at < numbers.size() && numbers[at] < end && numbers[at] == numbers[at - 1] + 1) ++at;
      update(group.subgroup(numbers[from] - first, at - from), numbers[from]);
    }
    first = end;
  }
}
void Optimizer::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters_) p.zero_grad(set_to_none);
}
void Optimizer::set_lr(double lr) {
  for (OptimizerParamGroup& group : groups_) group.options().set_lr(lr);
}

std::vector<Optimizer::StateSlot> Optimizer::all_slots() {
  std::vector<StateSlot> all = state_slots();
  for (size_t k = 0; k < master_weights_.size(); ++k)
    all.push_back({std::to_string(k) + ".master_param", parameters_[k], false, master_weights_[k], {}, kFloat32});
  return all;
}
std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const StateSlot& slot : const_cast<Optimizer*>(this)->all_slots())
    if (slot.tensor.defined()) out.emplace_back(slot.name, slot.tensor);
  return out;
}
void Optimizer::load_state(const std::vector<std::pair<std::string, Tensor>>& state, const Settings& settings) {
  const NoGradGuard guard;
  std::vector<OptimizerParamGroup> trial = groups_;
  apply_settings(settings, trial);
  const std::vector<StateSlot> state_slots = all_slots();
  std::set<const TensorImpl*> wide;  // half parameters whose state is float32
  for (const OptimizerParamGroup& group : trial)
    if (group.options().get_master_weights())
      for (const Tensor& p : group.params())
        if (is_reduced_floating_point(p.dtype())) wide.insert(p.impl());
  std::vector<Tensor> loaded(state_slots.size());
  for (const auto& entry : state) {
    const auto& [name, tensor] = entry;
    const auto at = std::find_if(state_slots.begin(), state_slots.end(),
                                 [&](const StateSlot& slot) { return slot.name == entry.first; });
    TANDEM_CHECK(at != state_slots.end(), "load_state: this optimizer has no state named '", name, "'; it has ",
                 parameters_.size(),
                 " parameters; the state must come from an optimizer of the same class and parameters");
    const Shape sizes = at->sizes ? *at->sizes : at->is_scalar ? Shape() : Shape(at->parameter.sizes());
    const bool is_wide = at->is_scalar || wide.count(at->parameter.impl());
    const DType dtype = at->dtype ? *at->dtype : is_wide ? kFloat32 : at->parameter.dtype();
    TANDEM_CHECK(tensor.sizes() == sizes, "load_state: '", name, "' is ", tensor.sizes(), "; accepted: ", sizes);
    loaded[static_cast<size_t>(at - state_slots.begin())] = tensor.detach().to(at->parameter.device(), dtype).clone();
  }
  for (size_t i = 0; i < state_slots.size(); ++i) state_slots[i].tensor = loaded[i];
  apply_settings(settings, groups_);
}

Optimizer::Settings Optimizer::settings() const {
  Settings out;
  const auto text = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);  // enough for any double
    return std::string(digits);
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    OptimizerParamGroup group = groups_[i];  // a copy, because visit_options() needs write access to the options
    const std::string prefix = std::to_string(i) + ".";
    group.options().visit_options([&](const std::string& name, std::variant<double*, bool*> setting) {
      std::visit([&](const auto* value) { out[prefix + name] = text(static_cast<double>(*value)); }, setting);
    });
    if (group.options().get_master_weights()) out[prefix + "master_weights"] = text(1);
    if (group.has_initial_lr()) out[prefix + "initial_lr"] = text(group.initial_lr());
  }
  return out;
}
void Optimizer::apply_settings(Settings settings, std::vector<OptimizerParamGroup>& groups) const {
  const auto take = [&](const std::string& name) -> std::optional<double> {
    const auto found = settings.find(name);
    if (found == settings.end()) return {};
    const std::string text = found->second;
    settings.erase(found);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    TANDEM_CHECK(!text.empty() && *end == 0, "load_state: '", name, "' is '", text, "'; accepted: a number");
    return value;
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string prefix = std::to_string(i) + ".";
    groups[i].options().visit_options([&](const std::string& name, std::variant<double*, bool*> setting) {
      if (const auto value = take(prefix + name))
        std::visit([&](auto* to) { *to = static_cast<std::remove_pointer_t<decltype(to)>>(*value); }, setting);
    });
    if (const auto on = take(prefix + "master_weights")) groups[i].options().set_master_weights(*on != 0);
    check_options(groups[i].options());
    if (const auto rate = take(prefix + "initial_lr")) groups[i].set_initial_lr(*rate);
  }
  TANDEM_CHECK(settings.empty(), "load_state: this optimizer has no setting named '", settings.begin()->first,
               "'; it has ", groups.size(),
               " parameter groups; the settings must come from an optimizer of the same class and groups");
}

}  // namespace tandem::optim
