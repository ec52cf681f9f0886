// Implements the lists of a module's hooks, and the library's access to protected members of modules.
#include "tandem/nn/module/module_hooks.h"

#include "tandem/nn/module.h"
#include "tandem/nn/module/hook_lists.h"

namespace tandem::nn {
RemovableHandle::RemovableHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
void RemovableHandle::remove() {
  if (remove_) std::exchange(remove_, nullptr)();
}
}  // namespace tandem::nn

namespace tandem::detail {
HookOwner::HookOwner() = default;
HookOwner::HookOwner(const HookOwner& other) { *this = other; }
HookOwner& HookOwner::operator=(const HookOwner& other) {
  hooks_ = other.hooks_ ? OwnedPtr(new ModuleHooks(*other.hooks_)) : OwnedPtr<ModuleHooks>();
  return *this;
}
HookOwner::~HookOwner() = default;
ModuleHooks& HookOwner::get() {
  if (!hooks_) hooks_ = OwnedPtr(new ModuleHooks);
  return *hooks_;
}
nn::RemovableHandle HookOwner::add_forward_pre_hook(PreHook hook) {
  return get().forward_pre_hooks.add(std::move(hook));
}
nn::RemovableHandle HookOwner::add_forward_hook(Hook hook) { return get().forward_hooks.add(std::move(hook)); }
nn::RemovableHandle HookOwner::add_backward_pre_hook(PreHook hook) {
  return get().backward_pre_hooks.add(std::move(hook));
}
nn::RemovableHandle HookOwner::add_backward_hook(Hook hook) { return get().backward_hooks.add(std::move(hook)); }

ModuleHooks& ModuleAccess::hooks(nn::Module& module) { return module.hooks_.get(); }
void ModuleAccess::sync_hooks(nn::Module& copy, const nn::Module& original) {
  const ModuleHooks* const from = original.hooks_.find();
  if (!from) return;
  ModuleHooks& to = copy.hooks_.get();
  to.forward_pre_hooks.sync_with(from->forward_pre_hooks);
  to.forward_hooks.sync_with(from->forward_hooks);
  to.backward_pre_hooks.sync_with(from->backward_pre_hooks);
  to.backward_hooks.sync_with(from->backward_hooks);
}
const nn::NamedParameters& ModuleAccess::parameters(const nn::Module& module) { return module.parameters_; }
const OrderedDict<std::string, std::shared_ptr<nn::Module>>& ModuleAccess::children(const nn::Module& module) {
  return module.children_;
}
Tensor ModuleAccess::extract_parameter(nn::Module& module, const char* op, const std::string& name) {
  const Tensor* const found = module.parameters_.find(name);
  TANDEM_CHECK(found && found->defined(), op, ": ", module.name(), " has no parameter '", name, "'");
  Tensor parameter = *found;
  module.parameters_.erase(name);
  return parameter;
}
Tensor& ModuleAccess::parameter_or_buffer(nn::Module& module, const std::string& name) {
  return module.parameters_.contains(name) ? module.parameters_[name] : module.buffers_[name];
}
void ModuleAccess::erase_buffer(nn::Module& module, const std::string& name) { module.buffers_.erase(name); }

}  // namespace tandem::detail
