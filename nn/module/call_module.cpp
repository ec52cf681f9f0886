// Runs hooks before and after a module's forward and in its backward, and records calls of modules in traces.
#include "tandem/nn/module/call_module.h"

#include "tandem/autograd/record.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/nn/module.h"
#include "tandem/nn/module/hook_lists.h"

namespace tandem::detail {
namespace {

using autograd::Grads;

/// Node whose forward is the identity and whose backward applies a function to the gradients.
class IdentityNode final : public autograd::Node {
 public:
  using Backward = std::function<Grads(Grads)>;
  IdentityNode(const char* name, Backward backward) : Node(name), backward_(std::move(backward)) {}
  Grads apply(Grads&& grads) override {
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = make_zero_grad(i);
    return backward_(std::move(grads));
  }

 private:
  Backward backward_;
};
/// Inserts an IdentityNode after the tensors that require a gradient. `backward` takes and returns one gradient per
/// tensor, undefined for tensors that require none. @return whether a node was inserted
bool insert_identity_node(const char* name, HookTensors& tensors,
                          const std::function<HookTensors(HookTensors)>& backward) {
  std::vector<size_t> positions;
  HookTensors from;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (autograd::tensor_requires_grad(tensors[i])) {
      positions.push_back(i);
      from.push_back(tensors[i]);
      tensors[i] = core::alias(tensors[i]);
    }
  if (positions.empty()) return false;
  std::vector<Tensor*> to;
  to.reserve(positions.size());
  for (const size_t i : positions) to.push_back(&tensors[i]);
  const auto node = std::make_shared<IdentityNode>(name, [positions, count = tensors.size(), backward](Grads grads) {
    HookTensors all(count);
    for (size_t i = 0; i < positions.size(); ++i) all[positions[i]] = std::move(grads[i]);
    all = backward(std::move(all));
    for (size_t i = 0; i < positions.size(); ++i) grads[i] = all[positions[i]];
    return grads;
  });
  autograd::connect_node(node, to, ArrayRef<Tensor>(from), {});
  for (size_t i = 0; i < positions.size(); ++i) {
    autograd::set_view_base(*to[i], from[i]);
    autograd::materialize_autograd_meta(*to[i]).multi_output_view_op =
        name;  // makes in-place changes throw, because the hooks would not see them
  }
  return true;
}

/// Runs the hooks of one kind, such as "forward hook", in order. Each hook gets the tensors that the previous hook
/// returned.
template <class List, class... Others>
void run_hooks(const char* kind, const List& hooks, nn::Module& module, HookTensors& tensors, const Others&... others) {
  for (const auto& [key, hook] : hooks) {
    HookResult result;
    if constexpr (sizeof...(Others) == 0)
      result = hook(module, tensors);
    else
      result = hook(module, others..., tensors);
    if (!result) continue;
    TANDEM_CHECK(result->size() == tensors.size(), "a ", kind, " of ", module.name(), " returned ", result->size(),
                 " tensors, expected ", tensors.size(), " or nothing");
    tensors = std::move(*result);
  }
}

}  // namespace

/// The backward hooks of this call, copied because the module's lists may have changed when backward runs.
struct HookedCall::Backward {
  std::shared_ptr<nn::Module> module_owner;  // keeps the module alive; null if no shared_ptr owns it
  nn::Module* module;
  decltype(ModuleHooks::backward_hooks.snapshot()) hooks;
  decltype(ModuleHooks::backward_pre_hooks.snapshot()) pre_hooks;
  bool has_input_node = false;
  size_t num_inputs = 0;
  HookTensors grad_outputs;

  HookTensors on_grad_outputs(HookTensors grads) {
    run_hooks("full backward pre-hook", pre_hooks, *module, grads);
    if (has_input_node) {
      grad_outputs = grads;
      return grads;
    }
    for (const auto& [key, hook] : hooks) hook(*module, HookTensors(num_inputs), grads);
    return grads;
  }
  HookTensors on_grad_inputs(HookTensors grads) {
    const HookTensors outputs = std::move(grad_outputs);
    for (const auto& [key, hook] : hooks) {
      HookResult result = hook(*module, grads, outputs);
      if (!result) continue;
      TANDEM_CHECK(result->size() == grads.size(), "a full backward hook of ", module->name(), " returned ",
                   result->size(), " gradients, expected ", grads.size(), " or nothing");
      grads = std::move(*result);
    }
    return grads;
  }
};

HookedCall::HookedCall(nn::Module& module, ModuleHooks& hooks) : module_(module), hooks_(hooks) {}

HookedCall::~HookedCall() = default;

namespace {
HookTensors get_tensors(ArrayRef<Tensor*> positions) {
  HookTensors out;
  for (const Tensor* const each : positions)
    if (each) out.push_back(*each);
  return out;
}
void replace_tensors(HookTensors&& tensors, ArrayRef<Tensor*> positions) {
  size_t next = 0;
  for (Tensor* const each : positions)
    if (each) *each = std::move(tensors[next++]);
}
}  // namespace

void HookedCall::run_pre_hooks(ArrayRef<Tensor*> positions) {
  for (const Parametrization& each : hooks_.parametrizations) each.update(module_);
  HookTensors inputs = get_tensors(positions);
  run_hooks("forward pre-hook", hooks_.forward_pre_hooks.snapshot(), module_, inputs);
  if (is_grad_enabled() && !(hooks_.backward_hooks.is_empty() && hooks_.backward_pre_hooks.is_empty())) {
    backward_ = std::make_shared<Backward>();
    backward_->module_owner = module_.weak_from_this().lock();
    backward_->module = &module_;
    backward_->hooks = hooks_.backward_hooks.snapshot();
    backward_->pre_hooks = hooks_.backward_pre_hooks.snapshot();
    backward_->num_inputs = inputs.size();
    backward_->has_input_node =
        insert_identity_node("full_backward_hook", inputs,
                             [call = backward_](HookTensors grads) { return call->on_grad_inputs(std::move(grads)); });
  }
  inputs_ = inputs;
  replace_tensors(std::move(inputs), positions);
}
void HookedCall::run_post_hooks(ArrayRef<Tensor*> positions) {
  HookTensors outputs = get_tensors(positions);
  run_hooks("forward hook", hooks_.forward_hooks.snapshot(), module_, outputs, inputs_);
  if (backward_)
    insert_identity_node("full_backward_hook", outputs,
                         [call = backward_](HookTensors grads) { return call->on_grad_outputs(std::move(grads)); });
  replace_tensors(std::move(outputs), positions);
}

namespace {

/// Returns the path from a module to one of its descendants, such as ".layer.0". Returns "" if it is not a descendant.
std::string find_descendant_path(const nn::Module& from, const nn::Module& module) {
  const auto& children = ModuleAccess::children(from);
  for (const auto& child : children)
    if (child.value().get() == &module) return "." + child.key();
  for (const auto& child : children)
    if (const std::string rest = find_descendant_path(*child.value(), module); !rest.empty())
      return "." + child.key() + rest;
  return "";
}
/// Returns the path of a module below the innermost running module that contains it. For a module that no running
/// module contains, returns the module's class name.
std::string find_module_path(const nn::Module& module) {
  for (const ModuleFrame* frame = current_module_frame; frame; frame = frame->caller) {
    if (!frame->module) continue;
    if (frame->module == &module) return frame->path;
    const std::string below = find_descendant_path(*static_cast<const nn::Module*>(frame->module), module);
    if (!below.empty()) return frame->path + below;
  }
  const std::string name = module.name();
  return name.substr(0, name.find('<'));
}

}  // namespace

struct ModuleSpan::OpenSpan {
  std::shared_ptr<Tracer> tracer;
  TraceEvent event{.kind = TraceEvent::Kind::module, .name = {}};
  ModuleFrame frame;
};

ModuleSpan::ModuleSpan(const nn::Module& first, const nn::Module& last) {
  std::shared_ptr<Tracer> tracer = ThreadContext::current().tracer;
  if (!tracer) return;
  std::string path = find_module_path(first);
  if (&first != &last) {
    const std::string end = find_module_path(last);
    path += '-';
    path.append(end, end.rfind('.') + 1);
  }
  open_span_ = new OpenSpan{.tracer = std::move(tracer), .frame = {&first, path, current_module_frame}};
  open_span_->event.name = std::move(path);
  current_module_frame = &open_span_->frame;
  open_span_->event.start = trace_clock_seconds();
}
ModuleSpan::~ModuleSpan() {
  if (!open_span_) return;
  open_span_->event.end = trace_clock_seconds();
  current_module_frame = open_span_->frame.caller;
  open_span_->tracer->add_event(std::move(open_span_->event));
  delete open_span_;
}

}  // namespace tandem::detail
