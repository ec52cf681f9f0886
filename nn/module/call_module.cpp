// Runs hooks before and after a module's forward and in its backward.
#include "tandem/nn/module/call_module.h"

#include "tandem/autograd/record.h"
#include "tandem/nn/module.h"
#include "tandem/nn/module/hook_lists.h"

namespace tandem::detail {
namespace {

using autograd::Grads;

/// Node whose forward is the identity and whose backward applies a function to the gradients.
class PassThrough final : public autograd::Node {
 public:
  using Backward = std::function<Grads(Grads)>;
  PassThrough(const char* name, Backward backward) : Node(name), backward_(std::move(backward)) {}
  Grads apply(Grads&& grads) override {
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = zeros_for(i);
    return backward_(std::move(grads));
  }

 private:
  Backward backward_;
};
/// Inserts a PassThrough node after the tensors that require a gradient. `backward` takes and returns one gradient per
/// tensor, undefined for tensors that require none. @return whether a node was inserted
bool pass_through(const char* name, HookTensors& tensors, const std::function<HookTensors(HookTensors)>& backward) {
  std::vector<size_t> places;
  HookTensors from;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (autograd::wants_grad(tensors[i])) {
      places.push_back(i);
      from.push_back(tensors[i]);
      tensors[i] = core::alias(tensors[i]);
    }
  if (places.empty()) return false;
  std::vector<Tensor*> to;
  to.reserve(places.size());
  for (const size_t i : places) to.push_back(&tensors[i]);
  const auto node = std::make_shared<PassThrough>(name, [places, count = tensors.size(), backward](Grads grads) {
    HookTensors all(count);
    for (size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(grads[i]);
    all = backward(std::move(all));
    for (size_t i = 0; i < places.size(); ++i) grads[i] = all[places[i]];
    return grads;
  });
  autograd::link(node, to, ArrayRef<Tensor>(from), {});
  for (size_t i = 0; i < places.size(); ++i) {
    autograd::set_view_of(*to[i], from[i]);
    autograd::meta(*to[i]).part_of = name;  // makes in-place changes throw, because the hooks would not see them
  }
  return true;
}

/// Runs the hooks of one kind, such as "forward hook", in order. Each hook gets the tensors that the previous hook
/// returned.
template <class List, class... Others>
void run(const char* kind, const List& hooks, nn::Module& module, HookTensors& tensors, const Others&... others) {
  for (const auto& [key, hook] : hooks) {
    HookResult replaced;
    if constexpr (sizeof...(Others) == 0)
      replaced = hook(module, tensors);
    else
      replaced = hook(module, others..., tensors);
    if (!replaced) continue;
    TANDEM_CHECK(replaced->size() == tensors.size(), "a ", kind, " of ", module.name(), " returned ", replaced->size(),
                 " tensors, expected ", tensors.size(), " or nothing");
    tensors = std::move(*replaced);
  }
}

}  // namespace

/// The backward hooks of this call, copied because the module's lists may have changed when backward runs.
struct HookedCall::Backward {
  std::shared_ptr<nn::Module> kept;  // keeps the module alive; null if no shared_ptr owns it
  nn::Module* module;
  decltype(ModuleHooks::backward.list()) hooks;
  decltype(ModuleHooks::backward_pre.list()) pre;
  bool inputs_follow = false;
  size_t inputs = 0;
  HookTensors grad_outputs;

  HookTensors of_outputs(HookTensors grads) {
    run("full backward pre-hook", pre, *module, grads);
    if (inputs_follow) {
      grad_outputs = grads;
      return grads;
    }
    for (const auto& [key, hook] : hooks) hook(*module, HookTensors(inputs), grads);
    return grads;
  }
  HookTensors of_inputs(HookTensors grads) {
    const HookTensors outputs = std::move(grad_outputs);
    for (const auto& [key, hook] : hooks) {
      HookResult replaced = hook(*module, grads, outputs);
      if (!replaced) continue;
      TANDEM_CHECK(replaced->size() == grads.size(), "a full backward hook of ", module->name(), " returned ",
                   replaced->size(), " gradients, expected ", grads.size(), " or nothing");
      grads = std::move(*replaced);
    }
    return grads;
  }
};

HookedCall::HookedCall(nn::Module& module, ModuleHooks& hooks) : module_(module), hooks_(hooks) {}

HookedCall::~HookedCall() = default;

namespace {
HookTensors tensors_at(ArrayRef<Tensor*> places) {
  HookTensors out;
  for (const Tensor* const each : places)
    if (each) out.push_back(*each);
  return out;
}
void put(HookTensors&& tensors, ArrayRef<Tensor*> places) {
  size_t next = 0;
  for (Tensor* const each : places)
    if (each) *each = std::move(tensors[next++]);
}
}  // namespace

void HookedCall::before(ArrayRef<Tensor*> places) {
  for (const Parametrization& each : hooks_.parametrizations) each.update(module_);
  HookTensors inputs = tensors_at(places);
  run("forward pre-hook", hooks_.forward_pre.list(), module_, inputs);
  if (is_grad_enabled() && !(hooks_.backward.is_empty() && hooks_.backward_pre.is_empty())) {
    backward_ = std::make_shared<Backward>();
    backward_->kept = module_.weak_from_this().lock();
    backward_->module = &module_;
    backward_->hooks = hooks_.backward.list();
    backward_->pre = hooks_.backward_pre.list();
    backward_->inputs = inputs.size();
    backward_->inputs_follow = pass_through("full_backward_hook", inputs, [call = backward_](HookTensors grads) {
      return call->of_inputs(std::move(grads));
    });
  }
  inputs_ = inputs;
  put(std::move(inputs), places);
}
void HookedCall::after(ArrayRef<Tensor*> places) {
  HookTensors outputs = tensors_at(places);
  run("forward hook", hooks_.forward.list(), module_, outputs, inputs_);
  if (backward_)
    pass_through("full_backward_hook", outputs,
                 [call = backward_](HookTensors grads) { return call->of_outputs(std::move(grads)); });
  put(std::move(outputs), places);
}

}  // namespace tandem::detail
