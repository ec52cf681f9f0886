// Hooks of modules, as in Python's torch.nn.Module: the handle returned to users, and where a module stores its hooks.
// nn/module/call_module.h runs them.
#pragma once
#include <type_traits>
#include <utility>

#include "tandem/core/owned_ptr.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/containers/ordered_dict.h"

namespace tandem::nn {

class Module;

/// Removes a registered hook.
class RemovableHandle {
 public:
  RemovableHandle() = default;
  explicit RemovableHandle(std::function<void()> remove);
  /// Removes the hook. Does nothing if it was removed before or the module no longer exists.
  void remove();

 private:
  std::function<void()> remove_;
};

}  // namespace tandem::nn

namespace tandem::detail {

using HookTensors = std::vector<Tensor>;
/// Replacement for the tensors passed to a hook; nullopt if the hook replaces nothing.
using HookResult = std::optional<HookTensors>;
using PreHook = std::function<HookResult(nn::Module&, const HookTensors&)>;
using Hook = std::function<HookResult(nn::Module&, const HookTensors&, const HookTensors&)>;

struct ModuleHooks;
/// Holds a module's hooks; allocates the lists for the first hook. A copy has its own lists.
class HookOwner {
 public:
  HookOwner();
  HookOwner(const HookOwner& other);
  HookOwner& operator=(const HookOwner& other);
  ~HookOwner();
  /// Returns the hooks; null if no hook was ever added.
  ModuleHooks* find() const { return hooks_.get(); }
  ModuleHooks& get();
  nn::RemovableHandle add_forward_pre_hook(PreHook hook);
  nn::RemovableHandle add_forward_hook(Hook hook);
  nn::RemovableHandle add_backward_pre_hook(PreHook hook);
  nn::RemovableHandle add_backward_hook(Hook hook);

 private:
  OwnedPtr<ModuleHooks> hooks_;
};
/// Gives the library access to protected members of modules.
struct ModuleAccess {
  /// Returns the module's hooks; null if no hook was ever added.
  static ModuleHooks* find_hooks(nn::Module& module);
  static ModuleHooks& hooks(nn::Module& module);
  /// Updates the hooks of `copy`, a copy of `original`, to those that `original` has now.
  static void sync_hooks(nn::Module& copy, const nn::Module& original);
  /// Returns the module's own parameters, including undefined ones, but not its children's.
  static const OrderedDict<std::string, Tensor>& parameters(const nn::Module& module);
  /// Returns the module's own children.
  static const OrderedDict<std::string, std::shared_ptr<nn::Module>>& children(const nn::Module& module);
  /// Removes a parameter and returns it. @throws Error if there is no defined parameter of this name
  static Tensor extract_parameter(nn::Module& module, const char* op, const std::string& name);
  /// Returns a parameter or buffer of the module itself. @throws Error if there is no such parameter or buffer
  static Tensor& parameter_or_buffer(nn::Module& module, const std::string& name);
  static void erase_buffer(nn::Module& module, const std::string& name);
};

/// Wraps a user's hook, which may return nothing, one tensor, or a list of tensors.
template <class Hook, class... Args> std::function<HookResult(nn::Module&, Args...)> wrap_hook(Hook hook) {
  return [hook = std::move(hook)](nn::Module& module, Args... args) mutable -> HookResult {
    using Result = std::invoke_result_t<Hook&, nn::Module&, Args...>;
    if constexpr (std::is_void_v<Result>) {
      hook(module, args...);
      return std::nullopt;
    } else if constexpr (std::is_same_v<std::decay_t<Result>, Tensor>) {
      Tensor replaced = hook(module, args...);
      if (!replaced.defined()) return std::nullopt;
      return HookTensors{std::move(replaced)};
    } else {
      return HookResult(hook(module, args...));
    }
  };
}

}  // namespace tandem::detail
