// Hooks of modules, as Python's torch::nn::Module has them: what users register, and where a module keeps it.
// nn/module/call_module.h calls them.
#pragma once
#include <type_traits>
#include <utility>

#include "tandem/core/owned.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/containers/ordered_dict.h"

namespace tandem::nn {

class Module;

/// Takes a hook away again.
class RemovableHandle {
 public:
  RemovableHandle() = default;
  explicit RemovableHandle(std::function<void()> remove);
  /// The hook is called no more. A second call, and one when the module is gone, does nothing.
  void remove();

 private:
  std::function<void()> remove_;
};

}  // namespace tandem::nn

namespace tandem::detail {

using HookTensors = std::vector<Tensor>;
/// What a hook puts in the place of the tensors that it was given; nullopt: nothing.
using HookResult = std::optional<HookTensors>;
using PreHook = std::function<HookResult(nn::Module&, const HookTensors&)>;
using Hook = std::function<HookResult(nn::Module&, const HookTensors&, const HookTensors&)>;

struct ModuleHooks;
/// What a module holds: no lists until there is a hook. A copy has lists of its own.
class HookOwner {
 public:
  HookOwner();
  HookOwner(const HookOwner& other);
  HookOwner& operator=(const HookOwner& other);
  ~HookOwner();
  /// Null where there never was a hook.
  ModuleHooks* find() const { return hooks_.get(); }
  ModuleHooks& get();
  nn::RemovableHandle add_forward_pre(PreHook hook);
  nn::RemovableHandle add_forward(Hook hook);
  nn::RemovableHandle add_backward_pre(PreHook hook);
  nn::RemovableHandle add_backward(Hook hook);

 private:
  Owned<ModuleHooks> hooks_;
};
/// Reaches what a module keeps to itself.
struct ModuleAccess {
  /// Null where there never was a hook.
  static ModuleHooks* find_hooks(nn::Module& module);
  static ModuleHooks& hooks(nn::Module& module);
  /// Gives `copy` the hooks that `original` has now.
  static void follow_hooks(nn::Module& copy, const nn::Module& original);
  /// The parameters of the module itself, undefined ones too.
  static const OrderedDict<std::string, Tensor>& parameters(const nn::Module& module);
  /// Lets go of a parameter, and returns it. @throws Error when there is none of this name
  static Tensor take_parameter(nn::Module& module, const char* op, const std::string& name);
  /// A parameter or buffer of the module itself. @throws Error when there is none of this name
  static Tensor& tensor(nn::Module& module, const std::string& name);
  static void erase_buffer(nn::Module& module, const std::string& name);
};

/// A hook of the user's, which may return nothing, a tensor for a single one, or a list of tensors.
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
