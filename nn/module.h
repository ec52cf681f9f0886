// Module: the base class of neural network modules, which holds named parameters, buffers and children, as
// torch::nn::Module.
#pragma once
#include <type_traits>

#include "tandem/core/tensor.h"
#include "tandem/nn/containers/ordered_dict.h"
#include "tandem/nn/module/call_module.h"
#include "tandem/nn/module/module_hooks.h"

namespace tandem::nn {
class Module;
}
namespace tandem::detail {
template <class M> struct Contained { using type = M; };
template <class M>
requires requires { typename M::ContainedType; }
struct Contained<M> {
  using type = typename M::ContainedType;
};
[[noreturn]] void throw_empty_handle();
class CloneContext;
/// Wraps a new module in a shared_ptr. Compiled once, because a make_shared per class slows down users' builds.
std::shared_ptr<nn::Module> make_shared_module(nn::Module* module);
}  // namespace tandem::detail

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem {
// Instantiates OrderedDict's slow-to-compile members. nn/module.cpp defines the instances; other files only declare
// them.
#define TANDEM_INSTANTIATE_ORDERED_DICT(Value, declared)                                    \
  declared template Value& OrderedDict<std::string, Value>::insert(std::string, Value);     \
  declared template void OrderedDict<std::string, Value>::erase(const std::string&);        \
  declared template Value OrderedDict<std::string, Value>::pop(const std::string&);         \
  declared template std::vector<std::string> OrderedDict<std::string, Value>::keys() const; \
  declared template std::vector<Value> OrderedDict<std::string, Value>::values() const;     \
  declared template std::vector<std::pair<std::string, Value>> OrderedDict<std::string, Value>::pairs() const;
TANDEM_INSTANTIATE_ORDERED_DICT(Tensor, extern)
TANDEM_INSTANTIATE_ORDERED_DICT(std::shared_ptr<nn::Module>, extern)
}  // namespace tandem

namespace tandem::nn {

/// Tensors by name, in the order of registration.
using NamedParameters = OrderedDict<std::string, Tensor>;

template <class M> class ModuleHolder;

/// Base class of all modules: holds parameters, buffers and child modules by name. A user's module derives from
/// Cloneable<M>, registers its parameters, buffers and children in reset(), and defines forward().
class Module : public std::enable_shared_from_this<Module> {
 public:
  Module();
  explicit Module(std::string name);
  Module(const Module& other);
  Module& operator=(const Module& other);
  virtual ~Module();

  /// Returns the parameters of this module and (if `recurse`) of all its descendants. Shared tensors are listed once.
  std::vector<Tensor> parameters(bool recurse = true) const;
  /// Returns parameters() with their names, such as "fc1.weight".
  NamedParameters named_parameters(bool recurse = true) const;
  /// Returns the tensors that are state but not trained, such as batch norm's running mean. `recurse` as in
  /// parameters().
  std::vector<Tensor> buffers(bool recurse = true) const;
  /// Returns buffers() with their names, such as "bn1.running_mean".
  NamedParameters named_buffers(bool recurse = true) const;
  /// Returns this module (if `include_self`) and all its descendants, each once, parents first.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  /// Returns modules() with their names: this module under `name_prefix`, its descendants under names such as
  /// "layer1.0.conv", with the prefix and a dot before them.
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  /// Returns the direct children of this module, in the order of registration.
  std::vector<std::shared_ptr<Module>> children() const;
  /// Returns children() with their names.
  const OrderedDict<std::string, std::shared_ptr<Module>>& named_children() const { return children_; }
  /// Returns all parameters and buffers by name. As in PyTorch, a shared tensor appears under each of its names.
  virtual NamedParameters state_dict() const;
  /// Copies the values of `state` into the parameters and buffers of the same names. For a shared tensor, one of its
  /// names is enough.
  /// @throws Error naming every entry that is missing, unexpected or of another shape; then nothing is changed
  virtual void load_state_dict(const NamedParameters& state);
  /// Writes the state dict into an archive, under the names that Python's state_dict() uses ("fc1.weight").
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads an archive that save(), Python or LibTorch wrote. In LibTorch's, each child module has an archive of its
  /// own. Other entries of the archive are ignored.
  /// @throws Error naming every entry that is missing or of another shape; then nothing is changed
  virtual void load(serialize::InputArchive& archive);

  /// Switches this module and all its descendants to training or evaluation mode. The mode affects dropout and batch
  /// norm.
  virtual void train(bool on = true);
  /// Same as train(false): dropout returns its input, batch norm uses its running statistics.
  void eval() { train(false); }
  /// Returns true in training mode, the initial mode.
  virtual bool is_training() const noexcept { return training_; }
  /// Makes the gradients of all parameters undefined, or zero if `set_to_none` is false.
  virtual void zero_grad(bool set_to_none = true);
  /// Moves or converts all parameters and buffers, and their gradients, in place. A dtype applies to floating-point
  /// tensors only. @throws Error if `dtype` is not a floating-point type (in the overload that takes a dtype alone)
  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  /// Converts all 4-d parameters and buffers, and their gradients, to a memory format, as PyTorch's
  /// `module.to(memory_format=...)`. Convolutions with channels-last weights return channels-last results.
  /// @throws Error unless `format` is Contiguous or ChannelsLast
  void to(MemoryFormat format);
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string& name, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string& name, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction = std::function<void(const std::string& name, const std::shared_ptr<Module>&)>;
  /// Calls `function` on this module, then on all its descendants, each once. Names are as in named_modules().
  /// @throws Error in the overloads that pass a shared_ptr, if no shared_ptr owns a visited module
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = {}) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix = {}) const;
  /// Returns a deep copy, on the original's devices or, if `device` is given, on `device`. Implemented by modules that
  /// derive from Cloneable and by the containers. All descendants are copied as well, with their tensors, plain
  /// members, hooks and training flags. A module that is registered in several places is shared in the copy too.
  /// Tensors that reset() shares are shared in the copy; for that, reset() must register the modules before it shares
  /// their tensors. Descendants that derive from Module alone have the plain members that the copy's reset() gave them.
  /// @throws Error if reset() does not register one of the original's parameters, buffers or children, or registers a
  /// child of another class
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const;
  /// Prints this module without its children on one line, as Python's PyTorch does: "Linear(in_features=2,
  /// out_features=3, bias=True)".
  virtual void pretty_print(std::ostream& out) const;
  /// Returns the name given to the constructor; by default the class name without "Impl" (in LibTorch's print style the
  /// full name, "torch::nn::LinearImpl").
  std::string name() const;

  /// Returns this module as an `M`, or null if it is of another class. `M`: a module class or its handle
  /// (nn::LinearImpl, nn::Linear).
  template <class M> auto* as() { return dynamic_cast<typename detail::Contained<M>::type*>(this); }
  template <class M> const auto* as() const { return dynamic_cast<const typename detail::Contained<M>::type*>(this); }

  // Meant for derived classes, but public, as in LibTorch, so that other code can register modules.
  /// Adds a parameter and returns it. An undefined tensor reserves the name without a value (a Linear without bias).
  /// @throws Error if the name is taken, is empty or contains a dot, or if an integer tensor should require a gradient
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// Adds a buffer, which is saved and moved with the module but not trained, and returns it. @throws Error if the name
  /// is taken, is empty or contains a dot
  Tensor& register_buffer(std::string name, Tensor tensor);
  /// Adds a child and returns it. @throws Error if the name is taken, is empty or contains a dot, or `module` is null
  template <class M> std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M> std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// Replaces a child and returns the new one. As in LibTorch, the modules that a Sequential runs or a ModuleList
  /// iterates over do not change. @throws Error if there is no child of this name, or `module` is null
  template <class M> std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    set_child(name, module);
    return module;
  }
  template <class M> std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  /// Removes a child. @throws Error if there is no child of this name
  void unregister_module(const std::string& name);

  // Hooks, as in Python's modules. They run if a handle (`fc(x)`), a Sequential, an AnyModule, DataParallel or
  // DistributedDataParallel calls the module; `fc->forward(x)` runs no hooks. `inputs` lists the tensors among the
  // arguments, `outputs` the tensors that forward returned. A hook may return nothing, a replacement (one tensor or a
  // list), or an optional list. A copy made by clone() has the same hooks.

  /// Registers a hook to run before forward: hook(Module&, const std::vector<Tensor>& inputs). Its result replaces the
  /// inputs.
  template <class Hook> RemovableHandle register_forward_pre_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_forward_pre_hook(detail::wrap_hook<Hook, Tensors>(std::move(hook)));
  }
  /// Registers a hook to run after forward: hook(Module&, const std::vector<Tensor>& inputs, const std::vector<Tensor>&
  /// outputs). Its result replaces the outputs.
  template <class Hook> RemovableHandle register_forward_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_forward_hook(detail::wrap_hook<Hook, Tensors, Tensors>(std::move(hook)));
  }
  /// Registers a hook to run in backward once the gradients of all inputs are known: hook(Module&, const
  /// std::vector<Tensor>& grad_inputs, const std::vector<Tensor>& grad_outputs). Its result replaces grad_inputs. The
  /// gradient of a tensor that does not require one is undefined. If no input requires a gradient, the hook runs once
  /// the gradients of the outputs are known. The module's inputs and outputs must not be changed in place.
  template <class Hook> RemovableHandle register_full_backward_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_backward_hook(detail::wrap_hook<Hook, Tensors, Tensors>(std::move(hook)));
  }
  /// Registers a hook to run in backward once the gradients of the outputs are known: hook(Module&, const
  /// std::vector<Tensor>& grad_outputs). Its result replaces grad_outputs.
  template <class Hook> RemovableHandle register_full_backward_pre_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_backward_pre_hook(detail::wrap_hook<Hook, Tensors>(std::move(hook)));
  }

 protected:
  friend class ModuleVisitor;
  friend struct detail::ModuleAccess;
  NamedParameters parameters_, buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;
  /// Makes the deep copy that clone() returns. @throws Error as clone()
  std::shared_ptr<Module> deep_copy(std::optional<Device> device) const;
  bool training_ = true;
  detail::HookOwner hooks_;

 private:
  friend class detail::CloneContext;
  // Steps of clone(), called by class CloneContext (nn/module/cloning.h).
  /// Returns a copy of the members, before the tensors and children are copied; null if this class has its own clone().
  virtual std::shared_ptr<Module> shallow_copy() const;
  /// Calls reset().
  virtual void register_members();
  /// Assigns all members of `original`, a module of the same class. Returns false if the class is not assignable.
  virtual bool copy_members_from(const Module& original);
  /// Assigns the option members of `original`, a module of the library and of the same class. Returns false if the
  /// class has no option members.
  virtual bool copy_options_from(const Module& original);
  /// In containers, replaces the contents by copies of the modules or parameters in `original`.
  virtual void copy_contents_from(const Module& original, detail::CloneContext& clone_context);
  void check_new_name(const char* op, const char* kind, const std::string& name) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  void set_child(const std::string& name, std::shared_ptr<Module> module);
  std::string name_;
};
}  // namespace tandem::nn
inline tandem::detail::ModuleHooks* tandem::detail::ModuleAccess::find_hooks(nn::Module& module) {
  return module.hooks_.find();
}
namespace tandem::nn {
/// Prints the module and its descendants as an indented tree.
std::ostream& operator<<(std::ostream& out, const Module& module);

/// Base class for modules that can be cloned: reset() registers everything again, then members and values are copied.
template <class Derived> class Cloneable : public Module {
 public:
  using Module::Module;
  /// Registers parameters, buffers and children again, with new initial values.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override { return deep_copy(device); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void register_members() override { reset(); }
  bool copy_members_from(const Module& original) override;
  bool copy_options_from(const Module& original) override;
};

/// A shared handle to a module: copies of the handle refer to the same module.
template <class M> class ModuleHolder {
 public:
  using ContainedType = M;
  /// Constructs the module without arguments.
  ModuleHolder() requires std::is_default_constructible_v<M> : impl_(detail::make_shared_module(new M)) {}
  /// Constructs an empty handle.
  ModuleHolder(std::nullptr_t) {}
  /// Shares ownership of `module`.
  ModuleHolder(std::shared_ptr<M> module) : impl_(std::move(module)) {}
  /// Constructs the module from these arguments.
  template <class First, class... Rest>
  requires((sizeof...(Rest) > 0 || !std::is_base_of_v<ModuleHolder, std::decay_t<First>>)&&std::is_constructible_v<
           M, First, Rest...>) explicit ModuleHolder(First&& first, Rest&&... rest)
      : impl_(detail::make_shared_module(new M(std::forward<First>(first), std::forward<Rest>(rest)...))) {}
  /// Returns the module. @throws Error if the handle is empty, as do operator* and get()
  M* operator->() const { return get(); }
  /// Returns the module.
  M& operator*() const { return *get(); }
  /// Returns the module.
  M* get() const {
    if (!impl_) detail::throw_empty_handle();
    return static_cast<M*>(impl_.get());
  }
  /// Returns a shared_ptr to the module; null if the handle is empty.
  std::shared_ptr<M> ptr() const { return std::static_pointer_cast<M>(impl_); }
  /// Returns element `i` of a container such as a Sequential or a ModuleList.
  template <class Index> decltype(auto) operator[](Index&& i) const { return (*get())[std::forward<Index>(i)]; }
  /// Whether the handle was made from nullptr and refers to no module.
  bool is_empty() const { return !impl_; }
  /// Whether the handle refers to a module.
  explicit operator bool() const { return bool(impl_); }
  /// Calls the module: forward() with the registered hooks.
  template <class... Args> auto operator()(Args&&... args) const {
    return detail::call_module(*get(), std::forward<Args>(args)...);
  }

 private:
  // A shared_ptr to the base class, because a shared_ptr for each module class would slow down every build.
  std::shared_ptr<Module> impl_;
};
template <class M> std::ostream& operator<<(std::ostream& out, const ModuleHolder<M>& holder) { return out << *holder; }

template <class Derived> std::shared_ptr<Module> Cloneable<Derived>::shallow_copy() const {
  return std::make_shared<Derived>(static_cast<const Derived&>(*this));
}
template <class Derived> bool Cloneable<Derived>::copy_members_from(const Module& original) {
  if constexpr (std::is_copy_assignable_v<Derived>)
    static_cast<Derived&>(*this) = static_cast<const Derived&>(original);
  return std::is_copy_assignable_v<Derived>;
}
template <class Derived> bool Cloneable<Derived>::copy_options_from(const Module& original) {
  auto& to = static_cast<Derived&>(*this);
  const auto& from = static_cast<const Derived&>(original);
  if constexpr (requires { to.stats_reducer = from.stats_reducer; }) to.stats_reducer = from.stats_reducer;
  if constexpr (requires { to.options_base = from.options_base; }) to.options_base = from.options_base;
  constexpr bool has_options = requires { to.options = from.options; };
  if constexpr (has_options) to.options = from.options;
  return has_options;
}

}  // namespace tandem::nn

/// Declares `Name`, a shared handle to `NameImpl`.
#define TANDEM_MODULE(Name)                                     \
  class Name : public ::tandem::nn::ModuleHolder<Name##Impl> {  \
   public:                                                      \
    using ::tandem::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
    using Impl = Name##Impl;                                    \
  }
/// Declares `Name` for a module of the library, whose clone() is compiled in one source file. To compile clone() in
/// every file that includes the module's header would take longer than the rest of most files.
#define TANDEM_LIBRARY_MODULE(Name)            \
  extern template class Cloneable<Name##Impl>; \
  TANDEM_MODULE(Name)
