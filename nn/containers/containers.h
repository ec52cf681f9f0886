// Containers without a forward: ModuleList, ModuleDict, ParameterList and ParameterDict. The module that owns such a
// container calls its modules or uses its parameters.
#pragma once
#include <type_traits>

#include "tandem/nn/containers/sequential.h"

namespace tandem::nn {

/// A list of modules, named by their indices.
class ModuleListImpl : public Module {
 public:
  using Iterator = std::vector<std::shared_ptr<Module>>::iterator;
  using ConstIterator = std::vector<std::shared_ptr<Module>>::const_iterator;
  ModuleListImpl() = default;
  template <class... Modules> explicit ModuleListImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  /// Appends the module that a handle refers to. The module's name is its index.
  template <class M> void push_back(const ModuleHolder<M>& module) { push_back(module.ptr()); }
  /// Appends a module. The module's name is its index.
  template <class M>
  requires std::is_base_of_v<Module, M>
  void push_back(std::shared_ptr<M> module) {
    register_module(std::to_string(size()), module);
    modules_.push_back(std::move(module));
  }
  /// Appends a new module, moved or copied from `module`.
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(M&& module) { push_back(std::make_shared<std::decay_t<M>>(std::forward<M>(module))); }
  /// Inserts the module that a handle refers to before module i.
  template <class M> void insert(size_t i, const ModuleHolder<M>& module) { insert(i, module.ptr()); }
  /// Inserts a module before module i; later modules move up by one. @throws IndexError unless i is at most size()
  void insert(size_t i, std::shared_ptr<Module> module);
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void insert(size_t i, M&& module) { insert(i, std::make_shared<std::decay_t<M>>(std::forward<M>(module))); }
  /// Appends all modules of a container.
  template <class Container> void extend(const Container& modules) {
    for (const auto& m : modules) push_back(m);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }
  /// Returns the number of modules.
  size_t size() const { return modules_.size(); }
  /// Whether it holds no module.
  bool is_empty() const { return modules_.empty(); }
  /// Returns module i. @throws IndexError unless i < size()
  std::shared_ptr<Module> ptr(size_t i) const;
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  /// Returns module i as an M, or null if it is of another class, as in LibTorch. @throws IndexError unless i < size()
  template <class M> std::shared_ptr<M> ptr(size_t i) const {
    static_assert(std::is_base_of_v<Module, M>, "ModuleList::ptr<M>: M must be a module such as LinearImpl");
    return std::dynamic_pointer_cast<M>(ptr(i));
  }
  /// Returns module i as an M. @throws Error if it is of another class. @throws IndexError unless i < size()
  template <class M> M& at(size_t i) { return *get_as<M>(i); }
  template <class M> const M& at(size_t i) const { return *get_as<M>(i); }
  /// Returns an iterator to the first module, as a shared_ptr.
  Iterator begin() { return modules_.begin(); }
  /// Returns the end iterator.
  Iterator end() { return modules_.end(); }
  /// Returns an iterator to the first module, as a shared_ptr.
  ConstIterator begin() const { return modules_.begin(); }
  /// Returns the end iterator.
  ConstIterator end() const { return modules_.end(); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void copy_contents_from(const Module& original, detail::CloneContext& clone_context) override;
  template <class M> M* get_as(size_t i) const {
    M* const found = ptr<M>(i).get();  // a raw pointer, because this list keeps the module alive
    if (!found) detail::throw_wrong_module_type("ModuleList", std::to_string(i), *ptr(i), typeid(M));
    return found;
  }
  std::vector<std::shared_ptr<Module>> modules_;
};
TANDEM_MODULE(ModuleList);

/// A dict of modules, in the order of insertion.
class ModuleDictImpl : public Module {
 public:
  using Named = OrderedDict<std::string, std::shared_ptr<Module>>;
  using Iterator = decltype(std::declval<Named&>().begin());
  using ConstIterator = decltype(std::declval<const Named&>().begin());
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const Named& modules);
  explicit ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  /// Inserts all modules. A module replaces an earlier module of the same name.
  void update(const Named& modules);
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  void update(const ModuleDictImpl& modules);
  /// Removes a module and returns it. @throws Error if there is no module of this name
  std::shared_ptr<Module> pop(const std::string& name) { return children_.pop(name); }
  /// Removes all modules.
  void clear();
  /// Returns a deep copy, with copies of all modules.
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }
  /// Whether there is a module of this name.
  bool contains(const std::string& name) const;
  /// Returns the number of modules.
  size_t size() const { return children_.size(); }
  /// Whether it holds no module.
  bool empty() const { return children_.is_empty(); }
  /// Returns the names, in the order of insertion.
  std::vector<std::string> keys() const { return children_.keys(); }
  /// Returns the modules, in the order of insertion.
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  /// Returns the names and modules, in the order of insertion.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const { return children_.pairs(); }
  /// Returns the module of this name. @throws Error if there is no such module
  std::shared_ptr<Module> ptr(const std::string& name) const;
  std::shared_ptr<Module> operator[](const std::string& name) const { return ptr(name); }
  /// Returns the module of this name as an M. @throws Error if there is no such module, or it is of another class
  template <class M> M& at(const std::string& name) { return *get_as<M>(name); }
  template <class M> const M& at(const std::string& name) const { return *get_as<M>(name); }
  /// Returns an iterator to the first (name, module) item.
  Iterator begin() { return children_.begin(); }
  /// Returns the end iterator.
  Iterator end() { return children_.end(); }
  /// Returns an iterator to the first (name, module) item.
  ConstIterator begin() const { return children_.begin(); }
  /// Returns the end iterator.
  ConstIterator end() const { return children_.end(); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void copy_contents_from(const Module& original, detail::CloneContext& clone_context) override;
  template <class M> M* get_as(const std::string& name) const {
    static_assert(std::is_base_of_v<Module, M>, "ModuleDict::at<M>: M must be a module such as LinearImpl");
    M* const found = ptr(name)->template as<M>();
    if (!found) detail::throw_wrong_module_type("ModuleDict", name, *ptr(name), typeid(M));
    return found;
  }
  void set_item(const std::string& name, const std::shared_ptr<Module>& module);
};
TANDEM_MODULE(ModuleDict);

/// A list of parameters, named by their indices. Each parameter keeps its requires_grad.
class ParameterListImpl : public Module {
 public:
  ParameterListImpl() = default;
  template <class... Tensors>
  requires(std::is_convertible_v<Tensors, Tensor>&&...) explicit ParameterListImpl(const Tensors&... parameters) {
    (append(parameters), ...);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }
  /// Appends a parameter. The parameter's name is its index.
  void append(const Tensor& parameter);
  /// Appends the value of a named parameter and ignores the name.
  void append(const NamedParameters::Item& item) { append(item.value()); }
  /// Appends all parameters of a container.
  template <class Container> void extend(const Container& parameters) {
    for (const auto& p : parameters) append(p);
  }
  /// Appends the parameters of another list.
  ParameterListImpl& operator+=(const ParameterListImpl& other) {
    const std::vector<Tensor> parameters = other.parameters(false);  // a copy, because `other` may be this list
    extend(parameters);
    return *this;
  }
  /// Returns the number of parameters.
  size_t size() const { return parameters_.size(); }
  /// Whether it holds no parameter.
  bool is_empty() const { return parameters_.is_empty(); }
  /// Returns parameter i. @throws IndexError unless i < size()
  Tensor& at(size_t i);
  Tensor& operator[](size_t i) { return at(i); }
  /// Returns an iterator to the first (name, parameter) item.
  auto begin() { return parameters_.begin(); }
  /// Returns the end iterator.
  auto end() { return parameters_.end(); }
  void pretty_print(std::ostream& out) const override;

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void copy_contents_from(const Module& original, detail::CloneContext& clone_context) override;
};
TANDEM_MODULE(ParameterList);

/// A dict of parameters, in the order of insertion. Each parameter keeps its requires_grad.
class ParameterDictImpl : public Module {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const NamedParameters& parameters);
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }
  /// Inserts a parameter. @throws Error if the name is taken
  Tensor& insert(const std::string& name, const Tensor& parameter);
  /// Replaces parameters by name. @throws Error for a name that the dict does not hold, as in LibTorch
  void update(const NamedParameters& parameters);
  void update(const ParameterDictImpl& parameters);
  /// Removes a parameter and returns it. @throws Error if there is no parameter of this name
  Tensor pop(const std::string& name) { return parameters_.pop(name); }
  /// Removes all parameters.
  void clear();
  /// Whether there is a parameter of this name.
  bool contains(const std::string& name) const;
  /// Returns the number of parameters.
  size_t size() const { return parameters_.size(); }
  /// Whether it holds no parameter.
  bool empty() const { return parameters_.is_empty(); }
  /// Returns the names, in the order of insertion.
  std::vector<std::string> keys() const { return parameters_.keys(); }
  /// Returns the parameters, in the order of insertion.
  std::vector<Tensor> values() const { return parameters_.values(); }
  /// Returns the parameter of this name. @throws Error if there is no such parameter
  Tensor& get(const std::string& name);
  const Tensor& get(const std::string& name) const;
  Tensor& operator[](const std::string& name) { return get(name); }
  const Tensor& operator[](const std::string& name) const { return get(name); }
  /// Returns an iterator to the first (name, parameter) item.
  auto begin() { return parameters_.begin(); }
  /// Returns the end iterator.
  auto end() { return parameters_.end(); }
  void pretty_print(std::ostream& out) const override;

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void copy_contents_from(const Module& original, detail::CloneContext& clone_context) override;
};
TANDEM_MODULE(ParameterDict);

}  // namespace tandem::nn
