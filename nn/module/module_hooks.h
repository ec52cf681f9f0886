// Hooks of modules, as Python's torch::nn::Module has them: what is called before and after a module's forward, and
// when its gradients are known.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

/// One call of a module that has hooks.
class HookedCall {
 public:
  HookedCall(nn::Module& module, ModuleHooks& hooks);
  HookedCall(const HookedCall&) = delete;
  HookedCall& operator=(const HookedCall&) = delete;
  ~HookedCall();
  /// Puts what forward is called with in the place of these; nulls are passed over. @throws Error when a hook returns
  /// another number of tensors
  void before(ArrayRef<Tensor*> inputs);
  /// Puts what the module gives in the place of what forward gave. @throws Error likewise
  void after(ArrayRef<Tensor*> outputs);

 private:
  struct Backward;
  nn::Module& module_;
  ModuleHooks& hooks_;
  HookTensors inputs_;
  std::shared_ptr<Backward> backward_;
};

/// An argument on its way to forward: a tensor is held, as a hook may replace it, others are passed on as they are.
template <class T> using HookArgument = std::conditional_t<std::is_same_v<std::decay_t<T>, Tensor>, Tensor, T&&>;
/// What forward gets of it.
template <class T>
using HookPassed = std::conditional_t<std::is_lvalue_reference_v<T>, std::remove_reference_t<HookArgument<T>>&,
                                      std::remove_reference_t<HookArgument<T>>&&>;
inline Tensor* hooked_tensor(Tensor& argument) { return &argument; }
template <class T> Tensor* hooked_tensor(const T&) { return nullptr; }

/// Calls module.forward(args...) with the hooks around it.
template <class M, class... Args> auto call_with_hooks(M& module, ModuleHooks& hooks, HookArgument<Args>... held) {
  HookedCall call(module, hooks);
  call.before({hooked_tensor(held)...});
  if constexpr (std::is_void_v<decltype(module.forward(static_cast<HookPassed<Args>>(held)...))>) {
    module.forward(static_cast<HookPassed<Args>>(held)...);
  } else {
    auto result = module.forward(static_cast<HookPassed<Args>>(held)...);
    if constexpr (std::is_same_v<decltype(result), Tensor>) {
      call.after(&result);
    } else {
      std::vector<Tensor*> tensors;
      visit_tensors(result, [&]<class Each>(Each& t) {
        if constexpr (!std::is_const_v<Each>) tensors.push_back(&t);  // others cannot be replaced
      });
      call.after(tensors);
    }
    return result;
  }
}

/// Calls module.forward(args...) with the module's hooks. Every call of a module goes through this function: handles,
/// containers, wrappers and the library's models call it. Programs that call forward() themselves skip the hooks.
template <class M, class... Args> auto call_module(M& module, Args&&... args) {
  if (ModuleHooks* const hooks = ModuleAccess::find_hooks(module)) [[unlikely]]
    return call_with_hooks<M, Args...>(module, *hooks, std::forward<Args>(args)...);
  return module.forward(std::forward<Args>(args)...);
}

}  // namespace tandem::detail
