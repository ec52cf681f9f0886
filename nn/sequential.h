// Sequential, and the modules of any type that it is made of.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn {

/// A module behind a type that only knows forward(Tensor) -> Tensor.
class AnyModule {
 public:
  template <class M>
  requires std::is_base_of_v<Module, M> AnyModule(std::shared_ptr<M> module)
      : module_(std::move(module)),
        forward_([](Module& m, const Tensor& x) -> Tensor { return dynamic_cast<M&>(m).forward(x); }) {}
  template <class M> AnyModule(const ModuleHolder<M>& module) : AnyModule(module.ptr()) {}
  /// The module's own forward.
  Tensor forward(const Tensor& x) const { return forward_(*module_, x); }
  /// A deep copy, on another device where one is given.
  AnyModule clone(std::optional<Device> device = {}) const {
    AnyModule copy = *this;
    copy.module_ = module_->clone(device);
    return copy;
  }
  /// The module itself, shared.
  const std::shared_ptr<Module>& ptr() const { return module_; }

 private:
  std::shared_ptr<Module> module_;
  Tensor (*forward_)(Module&, const Tensor&);
};
/// {"fc", nn::Linear(2, 3)}, for Sequential.
struct NamedAnyModule {
  template <class M> NamedAnyModule(std::string name, M module) : name(std::move(name)), module(std::move(module)) {}
  std::string name;
  AnyModule module;
};

/// Modules applied one after the other. Children are named 0, 1, ... unless given names.
class SequentialImpl : public Module {
 public:
  SequentialImpl() = default;
  template <class... Modules>
  requires(std::is_constructible_v<AnyModule, Modules>&&...) explicit SequentialImpl(Modules&&... modules) {
    (push_back(AnyModule(std::forward<Modules>(modules))), ...);
  }
  SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& m : modules) push_back(m.name, m.module);
  }
  /// Appends a module under a name, or its position. @throws Error where the name is taken
  void push_back(AnyModule module) { push_back(std::to_string(size()), std::move(module)); }
  void push_back(std::string name, AnyModule module) {
    register_module(std::move(name), module.ptr());
    modules_.push_back(std::move(module));
  }
  /// Appends all modules of a container.
  template <class Container> void extend(const Container& modules) {
    for (const auto& m : modules) push_back(m);
  }
  /// x through all modules in turn.
  Tensor forward(Tensor x) {
    for (const AnyModule& m : modules_) x = m.forward(x);
    return x;
  }
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override {
    const auto copy = std::make_shared<SequentialImpl>();
    for (size_t i = 0; i < size(); ++i) copy->push_back(children_[i].key(), modules_[i].clone(device));
    copy->training_ = training_;
    return copy;
  }
  /// How many modules it holds, and whether it is none.
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  /// @throws IndexError unless i < size()
  std::shared_ptr<Module> ptr(size_t i) const { return children_[i].value(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  /// Module i as what it is. @throws Error when it is something else
  template <class M> M& at(size_t i) const {
    M* const found = dynamic_cast<M*>(ptr(i).get());
    TANDEM_CHECK(found, "Sequential: module ", i, " is another one: ", ptr(i)->name());
    return *found;
  }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::vector<AnyModule> modules_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential(std::initializer_list<NamedAnyModule> modules) : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
  Tensor operator()(const Tensor& x) const { return get()->forward(x); }
};

}  // namespace tandem::nn
