// Hooks of modules, as Python's torch::nn::Module has them: what is called before and after a module's forward, and
// when its gradients are known.
#pragma once
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {

class Module;

/// Takes a hook away again.
class RemovableHandle {
 public:
  RemovableHandle() = default;
  explicit RemovableHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  /// The hook is called no more. A second call, and one when the module is gone, does nothing.
  void remove() {
    if (remove_) std::exchange(remove_, nullptr)();
  }

 private:
  std::function<void()> remove_;
};

}  // namespace tandem::nn

namespace tandem::detail {

using HookTensors = std::vector<Tensor>;
/// What a hook puts in the place of the tensors that it was given; nullopt: nothing.
using HookResult = std::optional<HookTensors>;

/// The hooks of one kind, in the order in which they were registered.
template <class... Args> class HookList {
 public:
  using Hook = std::function<HookResult(nn::Module&, Args...)>;
  nn::RemovableHandle add(Hook hook) {
    const uint64_t key = next_++;
    hooks_->emplace(key, std::move(hook));
    return nn::RemovableHandle([weak = std::weak_ptr(hooks_), key] {
      if (const auto hooks = weak.lock()) hooks->erase(key);
    });
  }
  /// A copy: a hook may add and remove hooks.
  std::map<uint64_t, Hook> list() const { return *hooks_; }
  bool is_empty() const { return hooks_->empty(); }
  HookList() = default;
  HookList(const HookList& other) : hooks_(std::make_shared<std::map<uint64_t, Hook>>(*other.hooks_)) {}
  HookList& operator=(const HookList&) = delete;
  ~HookList() = default;

 private:
  std::shared_ptr<std::map<uint64_t, Hook>> hooks_ = std::make_shared<std::map<uint64_t, Hook>>();
  uint64_t next_ = 0;
};

/// A parameter that is made of others before each forward: weight_norm, spectral_norm.
struct Parametrization {
  std::string kind, name;                    // "weight_norm" of "weight"
  std::function<void(nn::Module&)> install;  // registers the others in the place of the parameter
  std::function<void(nn::Module&)> update;   // makes it anew
  std::function<void(nn::Module&)> remove;   // registers it again, as it is
};

/// All hooks of a module. A copy of it, as of a module that is cloned, has lists of its own.
struct ModuleHooks {
  std::vector<Parametrization> parametrizations;
  HookList<const HookTensors&> forward_pre, backward_pre;
  HookList<const HookTensors&, const HookTensors&> forward, backward;
};
/// What a module holds: no list until there is a hook.
class HookOwner {
 public:
  HookOwner() = default;
  HookOwner(const HookOwner& other) : hooks_(other.hooks_ ? std::make_unique<ModuleHooks>(*other.hooks_) : nullptr) {}
  HookOwner& operator=(const HookOwner& other) {
    hooks_ = other.hooks_ ? std::make_unique<ModuleHooks>(*other.hooks_) : nullptr;
    return *this;
  }
  ~HookOwner() = default;
  /// Null where there never was a hook.
  ModuleHooks* find() const { return hooks_.get(); }
  ModuleHooks& get() {
    if (!hooks_) hooks_ = std::make_unique<ModuleHooks>();
    return *hooks_;
  }

 private:
  std::unique_ptr<ModuleHooks> hooks_;
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

/// Calls f with the tensors of a value: of a tensor, or a list, pair, tuple or optional that holds some.
template <class T, class F> void visit_tensors(T& value, const F& f) {
  if constexpr (std::is_same_v<T, Tensor>) {
    f(value);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&](auto&... each) { (visit_tensors(each, f), ...); }, value);
  } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    for (Tensor& each : value) f(each);
  } else if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
    if (value) f(*value);
  }
}
template <class T> HookTensors list_tensors(T& value) {
  HookTensors out;
  visit_tensors(value, [&](Tensor& t) { out.push_back(t); });
  return out;
}
template <class T> void put_tensors(T& value, const HookTensors& tensors) {
  size_t next = 0;
  visit_tensors(value, [&](Tensor& t) { t = tensors[next++]; });
}

/// Reaches what a module keeps to itself.
struct ModuleAccess {
  /// Null where there never was a hook.
  static ModuleHooks* find_hooks(nn::Module& module);
  static ModuleHooks& hooks(nn::Module& module);
  /// Lets go of a parameter, and returns it. @throws Error when there is none of this name
  static Tensor take_parameter(nn::Module& module, const char* op, const std::string& name);
  /// A parameter or buffer of the module itself. @throws Error when there is none of this name
  static Tensor& tensor(nn::Module& module, const std::string& name);
  static void erase_buffer(nn::Module& module, const std::string& name);
};

/// One call of a module that has hooks.
class HookedCall {
 public:
  HookedCall(nn::Module& module, ModuleHooks& hooks);
  /// What forward is called with in the place of these. @throws Error when a hook returns another number of tensors
  HookTensors before(HookTensors inputs);
  /// What the module gives in the place of what forward gave. @throws Error likewise
  HookTensors after(HookTensors outputs);

 private:
  struct Backward;
  nn::Module& module_;
  ModuleHooks& hooks_;
  HookTensors inputs_;
  std::shared_ptr<Backward> backward_;
};

/// An argument on its way to forward: a tensor is held, as a hook may replace it, others are passed on as they are.
template <class T> using HookArgument = std::conditional_t<std::is_same_v<std::decay_t<T>, Tensor>, Tensor, T&&>;
/// module.forward(args...), with the hooks around it.
template <class M, class... Args> auto call_with_hooks(M& module, ModuleHooks& hooks, Args&&... args) {
  std::tuple<HookArgument<Args>...> held(std::forward<Args>(args)...);
  HookedCall call(module, hooks);
  HookTensors inputs;
  const auto each_tensor = [&](const auto& f) {
    std::apply(
        [&](auto&... each) {
          const auto visit = [&]<class T>(T& argument) {
            if constexpr (std::is_same_v<T, Tensor>) f(argument);
          };
          (visit(each), ...);
        },
        held);
  };
  each_tensor([&](Tensor& t) { inputs.push_back(t); });
  inputs = call.before(std::move(inputs));
  size_t next = 0;
  each_tensor([&](Tensor& t) { t = inputs[next++]; });
  return [&]<size_t... I>(std::index_sequence<I...>) {
    using Passed =
        std::tuple<std::conditional_t<std::is_lvalue_reference_v<Args>, std::remove_reference_t<HookArgument<Args>>&,
                                      std::remove_reference_t<HookArgument<Args>>&&>...>;
    const auto forward = [&] {
      return module.forward(static_cast<std::tuple_element_t<I, Passed>>(std::get<I>(held))...);
    };
    if constexpr (std::is_void_v<decltype(forward())>) {
      forward();
    } else {
      auto result = forward();
      put_tensors(result, call.after(list_tensors(result)));
      return result;
    }
  }
  (std::index_sequence_for<Args...>());
}

/// module.forward(args...), with its hooks if it has any.
template <class M, class... Args> auto call_module(M& module, Args&&... args) {
  if (ModuleHooks* const hooks = ModuleAccess::find_hooks(module)) [[unlikely]]
    return call_with_hooks(module, *hooks, std::forward<Args>(args)...);
  return module.forward(std::forward<Args>(args)...);
}

}  // namespace tandem::detail
