// Containers that only hold: ModuleList, ModuleDict, ParameterList and ParameterDict. Who owns one applies what is in
// it.
#pragma once
#include <type_traits>

#include "tandem/nn/containers/sequential.h"

namespace tandem::nn {

/// Modules under their positions.
class ModuleListImpl : public Module {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;
  ModuleListImpl() = default;
  template <class... Modules> explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  /// Appends a module by its handle; its name is its position.
  template <class M> void push_back(const ModuleHolder<M>& module) { push_back(module.ptr()); }
  /// Appends a module, whose name is its position.
  template <class M>
  requires std::is_base_of_v<Module, M>
  void push_back(std::shared_ptr<M> module) {
    register_module(std::to_string(size()), module);
    modules_.push_back(std::move(module));
  }
  /// Appends a module that is moved, or copied, into this.
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(M&& module) { push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module))); }
  /// Puts a module before module i, by its handle.
  template <class M> void insert(size_t i, const ModuleHolder<M>& module) { insert(i, module.ptr()); }
  /// Puts a module before module i; that one and those behind it move up. @throws IndexError unless i <= size()
  void insert(size_t i, std::shared_ptr<Module> module);
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void insert(size_t i, M&& module) { insert(i, std::make_shared<std::decay_t<M>>(std::forward<M>(module))); }
  /// Appends all modules of a container.
  template <class Container> void extend(const Container& modules) {
    for (const auto& m : modules) push_back(m);
  }
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override { return deep_copy(device); }
  /// How many modules it holds.
  size_t size() const { return modules_.size(); }
  /// Whether it holds no module.
  bool is_empty() const { return modules_.empty(); }
  /// @throws IndexError unless i < size()
  std::shared_ptr<Module> ptr(size_t i) const;
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  /// Module i as what it is; null when it is something else, as in LibTorch. @throws IndexError unless i < size()
  template <class M> std::shared_ptr<M> ptr(size_t i) const {
    static_assert(std::is_base_of_v<Module, M>, "ModuleList::ptr<M>: M must be a module such as LinearImpl");
    return std::dynamic_pointer_cast<M>(ptr(i));
  }
  /// Module i as what it is. @throws Error when it is something else, IndexError unless i < size()
  template <class M> M& at(size_t i) { return *checked<M>(i); }
  template <class M> const M& at(size_t i) const { return *checked<M>(i); }
  /// The modules in order, as shared pointers.
  Iterator begin() { return modules_.begin(); }
  /// Behind the last one.
  Iterator end() { return modules_.end(); }
  /// The same of a constant list.
  ConstIterator begin() const { return modules_.begin(); }
  /// Behind the last one.
  ConstIterator end() const { return modules_.end(); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void take_contents(const Module& original, detail::Cloning& cloning) override;
  template <class M> M* checked(size_t i) const {
    M* const found = ptr<M>(i).get();  // this list keeps it alive
    if (!found) detail::throw_other_module("ModuleList", std::to_string(i), *ptr(i), typeid(M));
    return found;
  }
  std::vector<std::shared_ptr<Module>> modules_;
};
TANDEM_MODULE(ModuleList);

/// Modules under names, in the order in which they were inserted.
class ModuleDictImpl : public Module {
 public:
  using Named = OrderedDict<std::string, std::shared_ptr<Module>>;
  using Iterator = decltype(std::declval<Named&>().begin());
  using ConstIterator = decltype(std::declval<const Named&>().begin());
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const Named& modules);
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  /// Inserts all modules; one whose name is taken replaces what was there.
  void update(const Named& modules);
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  void update(const ModuleDictImpl& modules);
  /// Removes a module and gives it. @throws Error when there is none of this name
  std::shared_ptr<Module> pop(const std::string& name) { return children_.pop(name); }
  /// Removes all modules.
  void clear();
  /// A deep copy; so have the other three.
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override { return deep_copy(device); }
  /// Whether there is a module of this name.
  bool contains(const std::string& name) const;
  /// How many modules there are.
  size_t size() const { return children_.size(); }
  /// Whether there is none.
  bool empty() const { return children_.is_empty(); }
  /// The names, in the order of insertion.
  std::vector<std::string> keys() const { return children_.keys(); }
  /// The modules, in the order of insertion.
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  /// Names and modules, in the order of insertion.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const { return children_.pairs(); }
  /// @throws Error when there is none of this name
  std::shared_ptr<Module> ptr(const std::string& name) const;
  std::shared_ptr<Module> operator[](const std::string& name) const { return ptr(name); }
  /// The module as what it is. @throws Error when it is something else, or there is none of this name
  template <class M> M& at(const std::string& name) { return *checked<M>(name); }
  template <class M> const M& at(const std::string& name) const { return *checked<M>(name); }
  /// Names and modules in order.
  Iterator begin() { return children_.begin(); }
  /// Behind the last one.
  Iterator end() { return children_.end(); }
  /// The same of a constant dict.
  ConstIterator begin() const { return children_.begin(); }
  /// Behind the last one.
  ConstIterator end() const { return children_.end(); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void take_contents(const Module& original, detail::Cloning& cloning) override;
  template <class M> M* checked(const std::string& name) const {
    static_assert(std::is_base_of_v<Module, M>, "ModuleDict::at<M>: M must be a module such as LinearImpl");
    M* const found = ptr(name)->template as<M>();
    if (!found) detail::throw_other_module("ModuleDict", name, *ptr(name), typeid(M));
    return found;
  }
  void put(const std::string& name, const std::shared_ptr<Module>& module);
};
TANDEM_MODULE(ModuleDict);

/// Parameters under their positions. Each keeps its own requires_grad.
class ParameterListImpl : public Module {
 public:
  ParameterListImpl() = default;
  template <class... Tensors>
  requires(std::is_convertible_v<Tensors, Tensor>&&...) explicit ParameterListImpl(const Tensors&... parameters) {
    (append(parameters), ...);
  }
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override { return deep_copy(device); }
  /// Appends a parameter, whose name is its position.
  void append(const Tensor& parameter);
  /// The value of a named one; the name is not kept.
  void append(const NamedParameters::Item& item) { append(item.value()); }
  /// Appends all parameters of a container.
  template <class Container> void extend(const Container& parameters) {
    for (const auto& p : parameters) append(p);
  }
  /// How many parameters there are.
  size_t size() const { return parameters_.size(); }
  /// Whether there is none.
  bool is_empty() const { return parameters_.is_empty(); }
  /// @throws IndexError unless i < size()
  Tensor& at(size_t i);
  Tensor& operator[](size_t i) { return at(i); }
  /// Names and parameters in order.
  auto begin() { return parameters_.begin(); }
  /// Behind the last one.
  auto end() { return parameters_.end(); }
  void pretty_print(std::ostream& out) const override;

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void take_contents(const Module& original, detail::Cloning& cloning) override;
};
TANDEM_MODULE(ParameterList);

/// Parameters under names, in the order in which they were inserted. Each keeps its own requires_grad.
class ParameterDictImpl : public Module {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const NamedParameters& parameters);
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override { return deep_copy(device); }
  /// @throws Error when there is one of this name already
  Tensor& insert(const std::string& name, const Tensor& parameter);
  /// Replaces parameters by name. @throws Error for a name that the dict does not hold, as LibTorch
  void update(const NamedParameters& parameters);
  void update(const ParameterDictImpl& parameters);
  /// Removes a parameter and gives it. @throws Error when there is none of this name
  Tensor pop(const std::string& name) { return parameters_.pop(name); }
  /// Removes all parameters.
  void clear();
  /// Whether there is a parameter of this name.
  bool contains(const std::string& name) const;
  /// How many parameters there are.
  size_t size() const { return parameters_.size(); }
  /// Whether there is none.
  bool empty() const { return parameters_.is_empty(); }
  /// The names, in the order of insertion.
  std::vector<std::string> keys() const { return parameters_.keys(); }
  /// The parameters, in the order of insertion.
  std::vector<Tensor> values() const { return parameters_.values(); }
  /// @throws Error when there is none of this name
  Tensor& get(const std::string& name);
  const Tensor& get(const std::string& name) const;
  Tensor& operator[](const std::string& name) { return get(name); }
  const Tensor& operator[](const std::string& name) const { return get(name); }
  /// Names and parameters in order.
  auto begin() { return parameters_.begin(); }
  /// Behind the last one.
  auto end() { return parameters_.end(); }
  void pretty_print(std::ostream& out) const override;

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void take_contents(const Module& original, detail::Cloning& cloning) override;
};
TANDEM_MODULE(ParameterDict);

}  // namespace tandem::nn
