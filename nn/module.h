// Module: parameters, buffers and children under names, as torch::nn::Module.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn {

/// Names and values in the order of registration.
template <class T> class OrderedDict {
 public:
  struct Item {
    std::string name;
    T value_;
    const std::string& key() const { return name; }
    T& value() { return value_; }
    const T& value() const { return value_; }
  };
  void insert(std::string name, T value) { items_.push_back({std::move(name), std::move(value)}); }
  T* find(const std::string& name) {
    for (Item& i : items_)
      if (i.name == name) return &i.value_;
    return nullptr;
  }
  const T* find(const std::string& name) const { return const_cast<OrderedDict*>(this)->find(name); }
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  T& operator[](const std::string& name) {
    T* const found = find(name);
    TANDEM_CHECK(found, "there is nothing named '", name, "' here");
    return *found;
  }
  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  void clear() { items_.clear(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<T> values() const {
    std::vector<T> out;
    for (const Item& i : items_) out.push_back(i.value_);
    return out;
  }

 private:
  std::vector<Item> items_;
};
using NamedParameters = OrderedDict<Tensor>;

template <class M> class ModuleHolder;
template <class M> struct Contained { using type = M; };
template <class M>
requires requires { typename M::ContainedType; }
struct Contained<M> {
  using type = typename M::ContainedType;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module() = default;
  explicit Module(std::string name) : name_(std::move(name)) {}
  virtual ~Module() = default;

  /// Tensors to train, of this module and (if `recurse`) of its children; a shared one is listed once.
  std::vector<Tensor> parameters(bool recurse = true) const { return named_parameters(recurse).values(); }
  /// The same under names such as "fc1.weight".
  NamedParameters named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const { return named_buffers(recurse).values(); }
  NamedParameters named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::shared_ptr<Module>> named_modules() const;
  std::vector<std::shared_ptr<Module>> children() const;
  const OrderedDict<std::shared_ptr<Module>>& named_children() const { return children_; }
  /// Parameters and buffers by name: what a state file holds.
  NamedParameters state_dict() const;
  /// Copies values into the parameters and buffers of these names. @throws Error naming what is missing, unexpected or
  /// of another shape; nothing is changed then
  void load_state_dict(const NamedParameters& state);

  virtual void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const noexcept { return training_; }
  void zero_grad(bool set_to_none = true);
  /// Moves or converts all parameters and buffers in place (floating ones only for a dtype); gradients too.
  void to(Device device, DType dtype);
  void to(Device device);
  void to(DType dtype);
  void apply(const std::function<void(Module&)>& f);
  /// A deep copy. Modules that derive from Cloneable have one.
  virtual std::shared_ptr<Module> clone(std::optional<Device> device = {}) const;
  /// "Linear(in_features=2, out_features=3)": one line for this module alone.
  virtual void pretty_print(std::ostream& out) const;
  std::string name() const;

  /// This module as an `M`, a module or its handle (nn::Linear, nn::LinearImpl); null when it is something else.
  template <class M> auto* as() { return dynamic_cast<typename Contained<M>::type*>(this); }
  template <class M> const auto* as() const { return dynamic_cast<const typename Contained<M>::type*>(this); }

  // Protected in spirit, public so that one can register from outside, as in LibTorch.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <class M> std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    check_new_name("register_module", name);
    children_.insert(std::move(name), module);
    return module;
  }
  template <class M> std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }

 protected:
  friend class ModuleVisitor;
  NamedParameters parameters_, buffers_;
  OrderedDict<std::shared_ptr<Module>> children_;
  bool training_ = true;

 private:
  template <class> friend class Cloneable;
  void check_new_name(const char* op, const std::string& name) const;
  void copy_state_from(const Module& other, std::optional<Device> device);
  std::string name_;
};
/// The module and its children as an indented tree.
std::ostream& operator<<(std::ostream& out, const Module& module);

/// Gives a module a deep copy: reset() registers everything afresh, then values are copied.
template <class Derived> class Cloneable : public Module {
 public:
  using Module::Module;
  /// Registers parameters, buffers and children anew, with fresh initial values.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override;
};

/// A shared handle on a module: copies name the same parameters.
template <class M> class ModuleHolder {
 public:
  using ContainedType = M;
  ModuleHolder() requires std::is_default_constructible_v<M> : impl_(std::make_shared<M>()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<M> module) : impl_(std::move(module)) {}
  template <class First, class... Rest>
  requires(!std::is_base_of_v<ModuleHolder, std::decay_t<First>> &&
           std::is_constructible_v<M, First, Rest...>) explicit ModuleHolder(First&& first, Rest&&... rest)
      : impl_(std::make_shared<M>(std::forward<First>(first), std::forward<Rest>(rest)...)) {}
  M* operator->() const { return get(); }
  M& operator*() const { return *get(); }
  M* get() const {
    TANDEM_CHECK(impl_, "an empty module handle was used; it was made with nullptr and never assigned");
    return impl_.get();
  }
  const std::shared_ptr<M>& ptr() const { return impl_; }
  bool is_empty() const { return !impl_; }
  explicit operator bool() const { return bool(impl_); }
  template <class... Args> auto operator()(Args&&... args) const { return get()->forward(std::forward<Args>(args)...); }

 private:
  std::shared_ptr<M> impl_;
};
template <class M> std::ostream& operator<<(std::ostream& out, const ModuleHolder<M>& holder) { return out << *holder; }

template <class Derived> std::shared_ptr<Module> Cloneable<Derived>::clone(std::optional<Device> device) const {
  const auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
  copy->parameters_.clear();
  copy->buffers_.clear();
  copy->children_.clear();
  copy->reset();
  copy->copy_state_from(*this, device);
  return copy;
}

}  // namespace tandem::nn

/// Declares `Name`, a shared handle on `NameImpl`.
#define TANDEM_MODULE(Name)                                     \
  class Name : public ::tandem::nn::ModuleHolder<Name##Impl> {  \
   public:                                                      \
    using ::tandem::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
  }
