// Lists of a module's hooks. Users' files do not include this header, which saves compile time.
#pragma once
#include <algorithm>
#include <map>

#include "tandem/core/internal.h"
#include "tandem/nn/module/module_hooks.h"

namespace tandem::detail {

/// The hooks of one kind (such as forward hooks), in the order of registration.
template <class Hook> class HookList {
 public:
  nn::RemovableHandle add(Hook hook) {
    const uint64_t key = next_key_++;
    hooks_->emplace(key, std::move(hook));
    return nn::RemovableHandle([weak = std::weak_ptr(hooks_), key] {
      if (const auto hooks = weak.lock()) hooks->erase(key);
    });
  }
  /// Returns a copy, because a hook may add and remove hooks while the list is traversed.
  std::map<uint64_t, Hook> snapshot() const { return *hooks_; }
  bool is_empty() const { return hooks_->empty(); }
  /// Adds hooks that `original` has and this copy lacks, and removes hooks that `original` no longer has.
  void sync_with(const HookList& original) {
    std::erase_if(*hooks_, [&](const auto& each) { return !original.hooks_->count(each.first); });
    hooks_->insert(original.hooks_->begin(), original.hooks_->end());
    next_key_ = std::max(next_key_, original.next_key_);
  }
  HookList() = default;
  HookList(const HookList& other) : hooks_(std::make_shared<std::map<uint64_t, Hook>>(*other.hooks_)) {}
  HookList& operator=(const HookList&) = delete;
  ~HookList() = default;

 private:
  std::shared_ptr<std::map<uint64_t, Hook>> hooks_ = std::make_shared<std::map<uint64_t, Hook>>();
  uint64_t next_key_ = 0;
};

/// A parameter that is computed from other parameters before each forward: weight_norm, spectral_norm.
struct Parametrization {
  std::string kind, name;                    // for example, kind "weight_norm" and name "weight"
  std::function<void(nn::Module&)> install;  // replaces the parameter by the parameters that it is computed from
  std::function<void(nn::Module&)> update;   // recomputes the parameter from those parameters
  std::function<void(nn::Module&)> remove;   // makes the parameter an ordinary one again, with its current value
};

/// All hooks of a module. A copy, such as a cloned module's, has its own lists.
struct ModuleHooks {
  std::vector<Parametrization> parametrizations;
  HookList<PreHook> forward_pre_hooks, backward_pre_hooks;
  HookList<Hook> forward_hooks, backward_hooks;
};

}  // namespace tandem::detail
