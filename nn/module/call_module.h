// call_module: the one function that calls a module's forward, with the hooks before and after it.
#pragma once
#include <type_traits>

#include "tandem/core/tensor_tree.h"
#include "tandem/core/trace/op_span.h"
#include "tandem/nn/module/module_hooks.h"

namespace tandem::detail {

/// Runs the hooks around one call of a module.
class HookedCall {
 public:
  HookedCall(nn::Module& module, ModuleHooks& hooks);
  HookedCall(const HookedCall&) = delete;
  HookedCall& operator=(const HookedCall&) = delete;
  ~HookedCall();
  /// Computes parametrized parameters, then runs the forward pre-hooks and replaces these inputs by the hooks' results.
  /// A null pointer stands for an argument that is not a tensor. @throws Error if a hook returns another number of
  /// tensors
  void run_pre_hooks(ArrayRef<Tensor*> inputs);
  /// Runs the forward hooks and replaces these outputs by the hooks' results. @throws Error if a hook returns another
  /// number of tensors
  void run_post_hooks(ArrayRef<Tensor*> outputs);

 private:
  struct Backward;
  nn::Module& module_;
  ModuleHooks& hooks_;
  HookTensors inputs_;
  std::shared_ptr<Backward> backward_;
};

/// Marks a call of a module in the trace, from construction to destruction. Construct it only if
/// is_any_trace_recording_kernels().
class ModuleSpan {
 public:
  explicit ModuleSpan(const nn::Module& module) : ModuleSpan(module, module) {}
  /// For consecutive children of a Sequential that are computed at once; their path ends with "1-3", for example.
  ModuleSpan(const nn::Module& first, const nn::Module& last);
  ModuleSpan(const ModuleSpan&) = delete;
  ~ModuleSpan();

 private:
  struct OpenSpan;
  OpenSpan* open_span_ = nullptr;
};

/// How an argument is stored before forward: tensors by value, because a hook may replace them; others by reference.
template <class T> using HookArgument = std::conditional_t<std::is_same_v<std::decay_t<T>, Tensor>, Tensor, T&&>;
/// The type with which a stored argument is passed on to forward.
template <class T>
using HookPassed = std::conditional_t<std::is_lvalue_reference_v<T>, std::remove_reference_t<HookArgument<T>>&,
                                      std::remove_reference_t<HookArgument<T>>&&>;
inline Tensor* tensor_or_null(Tensor& argument) { return &argument; }
template <class T> Tensor* tensor_or_null(const T&) { return nullptr; }

/// Calls module.forward(args...) with the hooks around it.
template <class M, class... Args> auto call_with_hooks(M& module, ModuleHooks& hooks, HookArgument<Args>... held) {
  HookedCall call(module, hooks);
  call.run_pre_hooks({tensor_or_null(held)...});
  if constexpr (std::is_void_v<decltype(module.forward(static_cast<HookPassed<Args>>(held)...))>) {
    module.forward(static_cast<HookPassed<Args>>(held)...);
  } else {
    auto result = module.forward(static_cast<HookPassed<Args>>(held)...);
    if constexpr (std::is_same_v<decltype(result), Tensor>) {
      call.run_post_hooks(&result);
    } else {
      std::vector<Tensor*> tensors;
      visit_tensors(result, [&]<class Each>(Each& t) {
        if constexpr (!std::is_const_v<Each>) tensors.push_back(&t);  // const tensors cannot be replaced
      });
      call.run_post_hooks(tensors);
    }
    return result;
  }
}

// Note [Calls of modules]: every call of a module goes through call_module(). Handles (ModuleHolder, Sequential,
// AnyModule), wrappers (DataParallel, DistributedDataParallel) and the library's own modules use it. Only
// `fc->forward(x)`, as in LibTorch, bypasses it. Anything that acts before or after a module (a hook, a
// parametrization, sharded parameters, a cast policy, a pipeline stage, a summary) is a member of ModuleHooks, run by
// HookedCall::run_pre_hooks() and run_post_hooks(). A module without such members costs one test of a pointer. A trace
// records each call by a ModuleSpan; without a trace this costs one test of a global number. Code that fuses several
// modules (nn/containers/layer_fusion.cpp) first checks with ModuleAccess::find_hooks that they have none.

template <class M, class... Args> [[gnu::always_inline]] inline auto call_untraced(M& module, Args&&... args) {
  if (ModuleHooks* const hooks = ModuleAccess::find_hooks(module)) [[unlikely]]
    return call_with_hooks<M, Args...>(module, *hooks, std::forward<Args>(args)...);
  return module.forward(std::forward<Args>(args)...);
}
/// Kept out of call_module(), so that tracing adds only one test to the code of an untraced call.
template <class M, class... Args> [[gnu::noinline, gnu::cold]] auto call_traced(M& module, Args&&... args) {
  const ModuleSpan span(module);
  return call_untraced<M, Args...>(module, std::forward<Args>(args)...);
}
/// Calls module.forward(args...) with the module's hooks and parametrizations: see Note [Calls of modules].
template <class M, class... Args> auto call_module(M& module, Args&&... args) {
  if (is_any_trace_recording_kernels()) [[unlikely]]
    return call_traced<M, Args...>(module, std::forward<Args>(args)...);
  return call_untraced<M, Args...>(module, std::forward<Args>(args)...);
}

}  // namespace tandem::detail
