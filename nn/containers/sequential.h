// Sequential: a container whose forward passes its input through all modules in order.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tandem/nn/containers/any_module.h"
#include "tandem/nn/containers/layer_fusion.h"

namespace tandem::detail {
/// Throws the error for a module that was requested as an object of another class. `key`: the module's index or name.
[[noreturn]] void throw_wrong_module_type(const char* container, const std::string& key, const nn::Module& module,
                                          const std::type_info& asked);
}  // namespace tandem::detail

namespace tandem::nn {

/// Applies modules in order. Children are named 0, 1, ... unless names are given.
class SequentialImpl : public Module {
 public:
  using Iterator = std::vector<AnyModule>::iterator;
  using ConstIterator = std::vector<AnyModule>::const_iterator;
  SequentialImpl() = default;
  template <class... Modules>
  requires(sizeof...(Modules) > 0 && (!std::is_same_v<std::decay_t<Modules>, SequentialImpl> && ...) &&
           (std::is_constructible_v<AnyModule, Modules> && ...)) explicit SequentialImpl(Modules&&... modules) {
    (push_back(AnyModule(std::forward<Modules>(modules))), ...);
  }
  SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  /// Appends a module under the given name; the default name is the module's index. @throws Error if the name is taken,
  /// is empty or contains a dot, or if the AnyModule is empty
  void push_back(AnyModule module);
  void push_back(std::string name, AnyModule module);
  /// Appends a new module, moved or copied from `module`.
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(M&& module) { push_back(AnyModule(std::forward<M>(module))); }
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  void push_back(std::string name, M&& module) { push_back(std::move(name), AnyModule(std::forward<M>(module))); }
  /// Appends all modules of a container.
  template <class Container> void extend(const Container& modules) {
    for (const auto& m : modules) push_back(m);
  }
  /// Passes the inputs to the first module, and each module's output to the next. An empty Sequential returns its
  /// input, one tensor. @throws Error as AnyModule::forward does, and if an empty Sequential gets anything but one
  /// tensor
  template <class Return = Tensor, class... Inputs> Return forward(Inputs&&... inputs) {
    if constexpr (std::is_same_v<Return, Tensor> && sizeof...(Inputs) == 1 &&
                  (std::is_same_v<std::decay_t<Inputs>, Tensor> && ...))
      if (is_empty()) return (inputs, ...);
    TANDEM_CHECK(!is_empty(), "Cannot call forward() on an empty Sequential, except with one tensor");
    AnyValue value = modules_[0].any_forward(std::forward<Inputs>(inputs)...);
    for (size_t i = 1; i < size();) {
      const size_t num_fused = detail::try_fused_forward(modules_, i, value);
      if (num_fused == 0) value = modules_[i].any_forward(std::move(value));
      i += std::max<size_t>(num_fused, 1);
    }
    const Return* const result = value.template try_get<Return>();
    TANDEM_CHECK(result, "Sequential: The type of the return value is ", detail::demangled_name(value.type_info()),
                 ", but you asked for type ", detail::demangled_name(typeid(Return)));
    return *result;
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }
  /// Returns the number of modules.
  size_t size() const { return modules_.size(); }
  /// Whether it holds no module.
  bool is_empty() const { return modules_.empty(); }
  /// Returns module i. @throws IndexError unless i < size()
  std::shared_ptr<Module> ptr(size_t i) const { return module_at(i).ptr(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  /// Returns module i as an M. @throws Error if it is of another class. @throws IndexError unless i < size()
  template <class M> std::shared_ptr<M> ptr(size_t i) const {
    static_assert(std::is_base_of_v<Module, M>, "Sequential::ptr<M>: M must be a module such as LinearImpl");
    auto found = std::dynamic_pointer_cast<M>(ptr(i));
    if (!found) detail::throw_wrong_module_type("Sequential", std::to_string(i), *ptr(i), typeid(M));
    return found;
  }
  /// Returns module i as an M. @throws as ptr<M>(i)
  template <class M> M& at(size_t i) { return *ptr<M>(i); }
  /// Returns module i as an M. @throws as ptr<M>(i)
  template <class M> const M& at(size_t i) const { return *ptr<M>(i); }
  /// Returns an iterator to the first module.
  Iterator begin() { return modules_.begin(); }
  /// Returns the end iterator.
  Iterator end() { return modules_.end(); }
  /// Returns an iterator to the first module.
  ConstIterator begin() const { return modules_.begin(); }
  /// Returns the end iterator.
  ConstIterator end() const { return modules_.end(); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void copy_contents_from(const Module& original, detail::CloneContext& clone_context) override;
  const AnyModule& module_at(size_t i) const;
  std::vector<AnyModule> modules_;
};
/// A shared handle to a SequentialImpl: Sequential(Linear(2, 3), ReLU()), or with names Sequential({{"fc", Linear(2,
/// 3)}}).
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential(std::initializer_list<NamedAnyModule> modules);
  /// Calls forward() with the modules' hooks.
  template <class... Inputs> Tensor operator()(Inputs&&... inputs) const {
    return detail::call_module(*get(), std::forward<Inputs>(inputs)...);
  }
};

}  // namespace tandem::nn
