// call_module: the one function that calls a module's forward, with the hooks before and after it.
#pragma once
#include <type_traits>

#include "tandem/core/tensor_tree.h"
#include "tandem/nn/module/module_hooks.h"

namespace tandem::detail {

/// One call of a module that has hooks.
class HookedCall {
 public:
  HookedCall(nn::Module& module, ModuleHooks& hooks);
  HookedCall(const HookedCall&) = delete;
  HookedCall& operator=(const HookedCall&) = delete;
  ~HookedCall();
  /// Runs the forward pre-hooks and replaces these inputs by the hooks' results. Null pointers are skipped. @throws
  /// Error if a hook returns another number of tensors
  void before(ArrayRef<Tensor*> inputs);
  /// Runs the forward hooks and replaces these outputs by the hooks' results. @throws Error if a hook returns another
  /// number of tensors
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

// Note [The door to a module]: a module is entered by call_module() alone. Handles (ModuleHolder, Sequential,
// AnyModule), wrappers (DataParallel, DistributedDataParallel) and the library's own modules call it; `fc->forward(x)`,
// which LibTorch has too, goes past it. What is to act before or after a module, such as a hook, a parametrization,
// sharded parameters, a cast policy, a stage of a pipeline, a summary or a profile by module, is a member of
// ModuleHooks that HookedCall::before() and after() run. A module around which nothing acts costs the test of one
// pointer. Code that computes several modules as one (nn/containers/layer_fusion.cpp) first asks
// ModuleAccess::find_hooks whether anything acts around them.

/// Calls module.forward(args...) with what acts before and after it: the door to a module.
template <class M, class... Args> auto call_module(M& module, Args&&... args) {
  if (ModuleHooks* const hooks = ModuleAccess::find_hooks(module)) [[unlikely]]
    return call_with_hooks<M, Args...>(module, *hooks, std::forward<Args>(args)...);
  return module.forward(std::forward<Args>(args)...);
}

}  // namespace tandem::detail
