// Sequential and ModuleList.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn {

/// A module behind a type that only knows forward(Tensor) -> Tensor.
class AnyModule {
 public:
  template <class M>
  AnyModule(std::shared_ptr<M> module)
      : module_(module), forward_([m = module.get()](const Tensor& x) { return m->forward(x); }) {}
  Tensor forward(const Tensor& x) const { return forward_(x); }
  const std::shared_ptr<Module>& ptr() const { return module_; }

 private:
  std::shared_ptr<Module> module_;
  std::function<Tensor(const Tensor&)> forward_;
};

/// Modules applied one after the other. Children are named 0, 1, ... unless given names.
class SequentialImpl : public Module {
 public:
  SequentialImpl() = default;
  template <class... Modules> explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  template <class M> void push_back(const ModuleHolder<M>& module) { push_back(module.ptr()); }
  template <class M>
  requires std::is_base_of_v<Module, M>
  void push_back(std::shared_ptr<M> module) { push_back(std::to_string(modules_.size()), std::move(module)); }
  template <class M> void push_back(std::string name, std::shared_ptr<M> module) {
    TANDEM_CHECK(module, "Sequential: module ", modules_.size(), " is empty");
    register_module(std::move(name), module);
    modules_.emplace_back(std::move(module));
  }
  template <class M> void push_back(std::string name, const ModuleHolder<M>& module) {
    push_back(std::move(name), module.ptr());
  }
  Tensor forward(Tensor x) {
    for (const AnyModule& m : modules_) x = m.forward(x);
    return x;
  }
  size_t size() const { return modules_.size(); }
  std::shared_ptr<Module> operator[](size_t i) const { return modules_.at(i).ptr(); }
  std::shared_ptr<Module> ptr(size_t i) const { return modules_.at(i).ptr(); }
  void pretty_print(std::ostream& out) const override { out << "Sequential"; }

 private:
  std::vector<AnyModule> modules_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Tensor operator()(const Tensor& x) const { return get()->forward(x); }
};

/// Modules under one roof, applied by whoever owns it.
class ModuleListImpl : public Module {
 public:
  ModuleListImpl() = default;
  template <class... Modules> explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  template <class M> void push_back(const ModuleHolder<M>& module) { push_back(module.ptr()); }
  template <class M>
  requires std::is_base_of_v<Module, M>
  void push_back(std::shared_ptr<M> module) { register_module(std::to_string(size()), module); }
  size_t size() const { return children_.size(); }
  std::shared_ptr<Module> operator[](size_t i) const {
    return (children_.begin() + static_cast<ptrdiff_t>(i))->value();
  }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  void pretty_print(std::ostream& out) const override { out << "ModuleList"; }

 private:
  const std::vector<std::shared_ptr<Module>>& all() const {
    if (cache_.size() != size()) cache_ = children();
    return cache_;
  }
  mutable std::vector<std::shared_ptr<Module>> cache_;
};
TANDEM_MODULE(ModuleList);

}  // namespace tandem::nn
