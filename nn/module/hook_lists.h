// What a module keeps of its hooks. Users' files do not include it: they would compile it each.
#pragma once
#include <algorithm>
#include <map>

#include "tandem/core/internal.h"
#include "tandem/nn/module/module_hooks.h"

namespace tandem::detail {

/// The hooks of one kind, in the order in which they were registered.
template <class Hook> class HookList {
 public:
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
  /// Adds hooks that `original` has and this copy lacks, and removes hooks that `original` no longer has.
  void follow(const HookList& original) {
    std::erase_if(*hooks_, [&](const auto& each) { return !original.hooks_->count(each.first); });
    hooks_->insert(original.hooks_->begin(), original.hooks_->end());
    next_ = std::max(next_, original.next_);
  }
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
  HookList<PreHook> forward_pre, backward_pre;
  HookList<Hook> forward, backward;
};

}  // namespace tandem::detail
