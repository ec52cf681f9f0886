// Implements the steps of clone(): pairs each module with its copy, then copies members, hooks and values.
#include "tandem/nn/module/cloning.h"

#include <typeinfo>

#include "tandem/nn/module/hook_lists.h"

namespace tandem::detail {
namespace {

thread_local CloneContext* current_clone = nullptr;

bool is_library_module(const nn::Module& m) { return std::string_view(typeid(m).name()).starts_with("N6tandem2nn"); }

}  // namespace

void replace_storage(const Tensor& t, Device device, DType dtype, MemoryFormat format, bool non_blocking) {
  const NoGradGuard guard;
  const auto move = [&](const Tensor& x) {
    Tensor moved = x.detach().to(device, x.is_floating_point() ? dtype : x.dtype(), non_blocking,
                                 /*copy=*/false, format);
    if (!core::is_non_overlapping_and_dense(*moved.impl())) moved = moved.clone();
    TensorImpl& to = *x.impl();
    TensorImpl& from = *moved.impl();
    if (to.storage == from.storage) return;
    const uint32_t version =
        to.version().load(std::memory_order_relaxed) + 1;  // invalidates tensors saved for backward
    to.shallow_copy_from(from);
    to.version().store(version, std::memory_order_relaxed);
  };
  move(t);
  if (t.grad().defined()) move(t.grad());
}

CloneContext::CloneContext(std::optional<Device> device)
    : device_(device), outer_context_(std::exchange(current_clone, this)) {}
CloneContext::~CloneContext() { current_clone = outer_context_; }

std::shared_ptr<nn::Module> CloneContext::copy_module(const nn::Module& original) {
  if (const auto known = copies_.find(&original); known != copies_.end()) return known->second;
  std::shared_ptr<nn::Module> copy = original.shallow_copy();
  const bool is_own = copy != nullptr;
  if (!is_own) copy = original.clone(device_);
  copies_.emplace(&original, copy);
  if (!is_own) return copy;
  module_pairs_.emplace_back(copy.get(), &original);
  originals_.emplace(copy.get(), &original);
  copy->parameters_.clear();
  copy->buffers_.clear();
  copy->children_.clear();
  copy->hooks_ = {};
  copy->register_members();
  pair_children(*copy, original);
  return copy;
}

CloneContext::Children CloneContext::copy_children(const Children& originals) {
  Children out;
  for (const auto& child : originals) out.insert(child.key(), copy_module(*child.value()));
  return out;
}

void CloneContext::on_child_registered(nn::Module& parent, const std::string& name, nn::Module& child) {
  if (!current_clone) return;
  const auto pair = current_clone->originals_.find(&parent);
  if (pair == current_clone->originals_.end()) return;
  if (const auto* const original = pair->second->children_.find(name)) current_clone->pair_modules(child, **original);
}
void CloneContext::pair_children(nn::Module& copy, const nn::Module& original) {
  for (const auto& child : original.children_)
    if (const auto* const same = copy.children_.find(child.key())) pair_modules(**same, *child.value());
}

void CloneContext::pair_modules(nn::Module& copy, const nn::Module& original) {
  // A child of another class is not an error yet, because reset() may still replace it. If reset() does not,
  // check_children() throws.
  if (typeid(copy) != typeid(original)) return;
  if (!originals_.emplace(&copy, &original).second) return;
  module_pairs_.emplace_back(&copy, &original);
  copies_.emplace(&original, copy.shared_from_this());
  const auto names = [](const nn::Module& m) { return m.parameters_.size() + m.buffers_.size() + m.children_.size(); };
  const auto fits = [&] {
    for (const auto& item : original.parameters_)
      if (const Tensor* const t = copy.parameters_.find(item.key()); t && t->defined() && item->defined())
        if (t->sizes() != item->sizes()) return false;
    return true;
  };
  const HookOwner hooks = copy.hooks_;
  if (names(copy) + names(original) == 0) {
    copy.copy_members_from(original);
    copy.hooks_ = hooks;
  } else if (!(is_library_module(copy) && copy.copy_options_from(original) && fits()) &&
             copy.copy_members_from(original)) {
    copy.parameters_.clear();
    copy.buffers_.clear();
    copy.children_.clear();
    copy.hooks_ = {};
    copy.register_members();
  }
  pair_children(copy, original);
}

void CloneContext::finish_clones() {
  const NoGradGuard guard;
  for (size_t i = 0; i < module_pairs_.size(); ++i) {  // by index, because the loop body may append pairs
    const auto [copy, original] = module_pairs_[i];
    copy->copy_contents_from(*original, *this);
    for (const std::string& name : copy->children_.keys())
      if (!original->children_.contains(name)) copy->children_.erase(name);
    pair_children(*copy, *original);
    check_children(*copy, *original);
  }
  for (const auto& [copy, original] : module_pairs_) {
    if (copy->parameters_.is_empty() && copy->buffers_.is_empty() && copy->children_.is_empty()) {
      const HookOwner hooks = copy->hooks_;
      copy->copy_members_from(*original);
      copy->hooks_ = hooks;
    } else if (is_library_module(*copy)) {
      copy->copy_options_from(*original);
    }
    copy->training_ = original->training_;
    copy_hooks(*copy, *original);
    copy_tensor_values(*copy, *original);
  }
}
void CloneContext::check_children(const nn::Module& copy, const nn::Module& original) const {
  for (const auto& child : original.children_) {
    const auto* const same = copy.children_.find(child.key());
    TANDEM_CHECK(same,
                 "clone: The cloned module does not have the same number of child modules as the original module after "
                 "calling reset(). Are you sure you called register_module() inside reset() and not the constructor? ",
                 original.name(), "'s child '", child.key(), "', a ", child.value()->name(), ", is missing");
    const auto own = copies_.find(child.value().get());  // copy made by the class's own clone()
    TANDEM_CHECK(originals_.count(same->get()) || (own != copies_.end() && own->second == *same),
                 "clone: Attempted to clone submodule, but it is of a different type than the submodule it was to be "
                 "cloned into: child '",
                 child.key(), "' of ", original.name(), " is a ", child.value()->name(), ", and reset() registers a ",
                 (*same)->name());
  }
}
/// Copies the original's hooks, unless reset() registered hooks, which may refer to the copy.
void CloneContext::copy_hooks(nn::Module& copy, const nn::Module& original) const {
  if (copy.hooks_.find() || !original.hooks_.find()) return;
  copy.hooks_ = original.hooks_;
  for (const auto& each : original.hooks_.find()->parametrizations) each.install(copy);
}
void CloneContext::copy_tensor_values(nn::Module& copy, const nn::Module& original) const {
  for (nn::NamedParameters nn::Module::*const member : {&nn::Module::parameters_, &nn::Module::buffers_}) {
    const bool parameters = member == &nn::Module::parameters_;
    for (const auto& item : original.*member) {
      if (!item->defined()) continue;
      const Tensor* const to = (copy.*member).find(item.key());
      TANDEM_CHECK(to && to->defined(), "clone: The cloned module does not have the same number of ",
                   parameters ? "parameters" : "buffers",
                   " as the original module after calling reset(). Are you sure you called ",
                   parameters ? "register_parameter()" : "register_buffer()",
                   " inside reset() and not the constructor? '", item.key(), "' of ", original.name(), ", ",
                   item->sizes(), ", is missing");
      TANDEM_CHECK(to->sizes() == item->sizes(), "clone: '", item.key(), "' of ", original.name(), " is ",
                   item->sizes(), ", but ", to->sizes(),
                   " after calling reset(); reset() must register the same shape");
      replace_storage(*to, device_.value_or(item->device()), item->dtype(), item->suggest_memory_format());
      Tensor(*to).copy_(*item).requires_grad_(item->requires_grad());
    }
  }
}

}  // namespace tandem::detail
