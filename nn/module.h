// Module: parameters, buffers and children under names, as torch::nn::Module.
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
[[noreturn]] void used_empty_handle();
class Cloning;
/// In one place: a make_shared for each kind of module takes users' files long to compile.
std::shared_ptr<nn::Module> shared_module(nn::Module* module);
}  // namespace tandem::detail

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem {
// What takes long is compiled with Module, once.
#define TANDEM_DICT_OF(Value, declared)                                                     \
  declared template Value& OrderedDict<std::string, Value>::insert(std::string, Value);     \
  declared template void OrderedDict<std::string, Value>::erase(const std::string&);        \
  declared template Value OrderedDict<std::string, Value>::pop(const std::string&);         \
  declared template std::vector<std::string> OrderedDict<std::string, Value>::keys() const; \
  declared template std::vector<Value> OrderedDict<std::string, Value>::values() const;     \
  declared template std::vector<std::pair<std::string, Value>> OrderedDict<std::string, Value>::pairs() const;
TANDEM_DICT_OF(Tensor, extern)
TANDEM_DICT_OF(std::shared_ptr<nn::Module>, extern)
}  // namespace tandem

namespace tandem::nn {

/// Tensors under names, in the order in which they were registered.
using NamedParameters = OrderedDict<std::string, Tensor>;

template <class M> class ModuleHolder;

/// The base of all modules: holds parameters, buffers and child modules under names. A module of one's own derives from
/// Cloneable<M>, registers what it has in reset(), and has a forward().
class Module : public std::enable_shared_from_this<Module> {
 public:
  Module();
  explicit Module(std::string name);
  Module(const Module& other);
  Module& operator=(const Module& other);
  virtual ~Module();

  /// Tensors to train, of this module and (if `recurse`) of its children; a shared one is listed once.
  std::vector<Tensor> parameters(bool recurse = true) const;
  /// The same under names such as "fc1.weight".
  NamedParameters named_parameters(bool recurse = true) const;
  /// Tensors that are state but not trained, such as batch norm's running mean; recursion as parameters().
  std::vector<Tensor> buffers(bool recurse = true) const;
  /// The same under names such as "bn1.running_mean".
  NamedParameters named_buffers(bool recurse = true) const;
  /// This module (if `include_self`) and all below it, each once, parents first.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  /// This module, under the name `name_prefix`, and all below it, under names such as "layer1.0.conv" behind that.
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  /// The modules directly in this one, in the order of their registration.
  std::vector<std::shared_ptr<Module>> children() const;
  /// The same under their names.
  const OrderedDict<std::string, std::shared_ptr<Module>>& named_children() const { return children_; }
  /// Parameters and buffers by name: what a state file holds. As in PyTorch, what is shared stands under all its names.
  virtual NamedParameters state_dict() const;
  /// Copies values into the parameters and buffers of these names; one of the names of a shared tensor is enough.
  /// @throws Error naming what is missing, unexpected or of another shape; nothing is changed then
  virtual void load_state_dict(const NamedParameters& state);
  /// Writes the state dict into an archive, as Python's state_dict() has it ("fc1.weight"), and reads it from one, also
  /// of LibTorch's, whose children are archives of their own. What else an archive holds beside it is left alone.
  /// @throws Error naming what is missing or of another shape; nothing is changed then
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote.
  virtual void load(serialize::InputArchive& archive);

  /// Switches this module and all in it to training or evaluation: of dropout and batch norm.
  virtual void train(bool on = true);
  /// train(false): dropout passes its input on, batch norm uses its running statistics.
  void eval() { train(false); }
  /// Whether it is switched to training, which it is at first.
  virtual bool is_training() const noexcept { return training_; }
  /// Drops the gradients of all parameters, or makes them zero.
  virtual void zero_grad(bool set_to_none = true);
  /// Moves or converts all parameters and buffers in place (floating ones only for a dtype); gradients too.
  virtual void to(Device device, DType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void to(DType dtype, bool non_blocking = false);
  /// Brings all parameters and buffers of four dimensions, and their gradients, into that memory format, as PyTorch's
  /// `module.to(memory_format=...)` does. Convolutions with channels-last weights give channels-last results.
  /// @throws Error unless it is Contiguous or ChannelsLast
  void to(MemoryFormat format);
  using ModuleApplyFunction = std::function<void(Module&)>;
  using ConstModuleApplyFunction = std::function<void(const Module&)>;
  using NamedModuleApplyFunction = std::function<void(const std::string& name, Module&)>;
  using ConstNamedModuleApplyFunction = std::function<void(const std::string& name, const Module&)>;
  using ModulePointerApplyFunction = std::function<void(const std::shared_ptr<Module>&)>;
  using NamedModulePointerApplyFunction = std::function<void(const std::string& name, const std::shared_ptr<Module>&)>;
  /// Calls `function` with this module, then with all below it; a shared one once. Names are those of named_modules().
  /// @throws Error in the forms with pointers, where this module is in no shared_ptr
  void apply(const ModuleApplyFunction& function);
  void apply(const ConstModuleApplyFunction& function) const;
  void apply(const NamedModuleApplyFunction& function, const std::string& name_prefix = {});
  void apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix = {}) const;
  void apply(const ModulePointerApplyFunction& function) const;
  void apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix = {}) const;
  /// Returns a deep copy, on the original's devices or all on `device`. Modules that derive from Cloneable have one,
  /// and so have the containers. Each module below is a copy too: tensors, plain members, hooks, training flags. A
  /// module that stands in several places does so in the copy. Tensors that reset() shares are shared; to share them in
  /// reset(), register the modules first. Modules below that derive from Module alone keep the plain members reset()
  /// gives them.
  /// @throws Error for a parameter, buffer or child that reset() does not register, or registers with another class
  virtual std::shared_ptr<Module> clone(std::optional<Device> device = {}) const;
  /// "Linear(in_features=2, out_features=3, bias=True)": one line for this module alone, as Python's PyTorch prints it.
  virtual void pretty_print(std::ostream& out) const;
  /// The name of the class (in LibTorch's style "torch::nn::LinearImpl"), unless the constructor was given another.
  std::string name() const;

  /// This module as an `M`, a module or its handle (nn::Linear, nn::LinearImpl); null when it is something else.
  template <class M> auto* as() { return dynamic_cast<typename detail::Contained<M>::type*>(this); }
  template <class M> const auto* as() const { return dynamic_cast<const typename detail::Contained<M>::type*>(this); }

  // Protected in spirit, public so that one can register from outside, as in LibTorch.
  /// Gives this module a parameter. An undefined tensor keeps the name free of a value (a Linear without bias). @throws
  /// Error for a name that is taken, empty or has a dot, and for a tensor of integers that is to require a gradient
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// Gives this module a buffer: it is saved and moved with the module, and not trained. @throws Error for such names
  Tensor& register_buffer(std::string name, Tensor tensor);
  /// Gives this module a child. @return the child @throws Error for such names
  template <class M> std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M> std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// Puts another module in the place of a child. @throws Error when there is no child of this name. (What a Sequential
  /// runs and a ModuleList iterates over stays what was pushed, as in LibTorch.)
  template <class M> std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    set_child(name, module);
    return module;
  }
  template <class M> std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  /// Lets go of a child. @throws Error when there is no child of this name
  void unregister_module(const std::string& name);

  // Hooks, as Python's modules have them. They run if a handle (`fc(x)`), a Sequential, an AnyModule, DataParallel or
  // DistributedDataParallel calls the module; `fc->forward(x)` runs no hooks. `inputs` lists the tensors among the
  // arguments, `outputs` the tensors that forward returned. A hook may return nothing, a replacement (one tensor or a
  // list), or an optional list. A copy made by clone() has the same hooks.

  /// Before forward: hook(Module&, const std::vector<Tensor>& inputs).
  template <class Hook> RemovableHandle register_forward_pre_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_forward_pre(detail::wrap_hook<Hook, Tensors>(std::move(hook)));
  }
  /// After it: hook(Module&, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs).
  template <class Hook> RemovableHandle register_forward_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_forward(detail::wrap_hook<Hook, Tensors, Tensors>(std::move(hook)));
  }
  /// When backward knows the gradients of all inputs: hook(Module&, const std::vector<Tensor>& grad_inputs,
  /// const std::vector<Tensor>& grad_outputs). Tensors that require no gradient have undefined ones; where no input
  /// does, it is called when those of the outputs are known. What it returns takes the place of grad_inputs. Inputs and
  /// outputs of the module must not be changed in place then.
  template <class Hook> RemovableHandle register_full_backward_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_backward(detail::wrap_hook<Hook, Tensors, Tensors>(std::move(hook)));
  }
  /// When backward knows the gradients of the outputs: hook(Module&, const std::vector<Tensor>& grad_outputs).
  template <class Hook> RemovableHandle register_full_backward_pre_hook(Hook hook) {
    using Tensors = const std::vector<Tensor>&;
    return hooks_.add_backward_pre(detail::wrap_hook<Hook, Tensors>(std::move(hook)));
  }

 protected:
  friend class ModuleVisitor;
  friend struct detail::ModuleAccess;
  NamedParameters parameters_, buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;
  /// Makes the deep copy for clone(). @throws Error as clone()
  std::shared_ptr<Module> deep_copy(std::optional<Device> device) const;
  bool training_ = true;
  detail::HookOwner hooks_;

 private:
  friend class detail::Cloning;
  // The steps of clone(), for class Cloning (nn/module/cloning.h).
  /// Returns a copy of the members, before its tensors and children are copied; null if this class has its own clone().
  virtual std::shared_ptr<Module> shallow_copy() const;
  /// Calls reset().
  virtual void register_again();
  /// Assigns all members of `original`, a module of the same class. Returns false if the class has no assignment.
  virtual bool take_members(const Module& original);
  /// Assigns the members of `original` that are neither tensors nor modules, in a module of the library. Returns false
  /// if it has no options.
  virtual bool take_options(const Module& original);
  /// Makes a container hold copies of the modules or parameters in `original`.
  virtual void take_contents(const Module& original, detail::Cloning& cloning);
  void check_new_name(const char* op, const std::string& name) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  void set_child(const std::string& name, std::shared_ptr<Module> module);
  std::string name_;
};
}  // namespace tandem::nn
inline tandem::detail::ModuleHooks* tandem::detail::ModuleAccess::find_hooks(nn::Module& module) {
  return module.hooks_.find();
}
namespace tandem::nn {
/// The module and its children as an indented tree.
std::ostream& operator<<(std::ostream& out, const Module& module);

/// Gives a module a deep copy: reset() registers everything afresh, then members and values are copied.
template <class Derived> class Cloneable : public Module {
 public:
  using Module::Module;
  /// Registers parameters, buffers and children anew, with fresh initial values.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override { return deep_copy(device); }

 private:
  std::shared_ptr<Module> shallow_copy() const override;
  void register_again() override { reset(); }
  bool take_members(const Module& original) override;
  bool take_options(const Module& original) override;
};

/// A shared handle on a module: copies name the same parameters.
template <class M> class ModuleHolder {
 public:
  using ContainedType = M;
  /// Constructs the module without arguments.
  ModuleHolder() requires std::is_default_constructible_v<M> : impl_(detail::shared_module(new M)) {}
  /// Constructs an empty handle.
  ModuleHolder(std::nullptr_t) {}
  /// Shares ownership of `module`.
  ModuleHolder(std::shared_ptr<M> module) : impl_(std::move(module)) {}
  /// Constructs the module from these arguments.
  template <class First, class... Rest>
  requires((sizeof...(Rest) > 0 || !std::is_base_of_v<ModuleHolder, std::decay_t<First>>)&&std::is_constructible_v<
           M, First, Rest...>) explicit ModuleHolder(First&& first, Rest&&... rest)
      : impl_(detail::shared_module(new M(std::forward<First>(first), std::forward<Rest>(rest)...))) {}
  /// The module. @throws Error for an empty handle; so do the others
  M* operator->() const { return get(); }
  /// The module.
  M& operator*() const { return *get(); }
  /// The module.
  M* get() const {
    if (!impl_) detail::used_empty_handle();
    return static_cast<M*>(impl_.get());
  }
  /// Shared ownership of the module; null for an empty handle.
  std::shared_ptr<M> ptr() const { return std::static_pointer_cast<M>(impl_); }
  /// An element of a container: of a Sequential, a ModuleList.
  template <class Index> decltype(auto) operator[](Index&& i) const { return (*get())[std::forward<Index>(i)]; }
  /// Whether it was made from nullptr and names no module.
  bool is_empty() const { return !impl_; }
  /// Whether it names a module.
  explicit operator bool() const { return bool(impl_); }
  /// Calls the module: its forward(), with the hooks that are registered before and behind it.
  template <class... Args> auto operator()(Args&&... args) const {
    return detail::call_module(*get(), std::forward<Args>(args)...);
  }

 private:
  // Not of M: every file that includes the library would compile a shared_ptr for each of its modules.
  std::shared_ptr<Module> impl_;
};
template <class M> std::ostream& operator<<(std::ostream& out, const ModuleHolder<M>& holder) { return out << *holder; }

template <class Derived> std::shared_ptr<Module> Cloneable<Derived>::shallow_copy() const {
  return std::make_shared<Derived>(static_cast<const Derived&>(*this));
}
template <class Derived> bool Cloneable<Derived>::take_members(const Module& original) {
  if constexpr (std::is_copy_assignable_v<Derived>)
    static_cast<Derived&>(*this) = static_cast<const Derived&>(original);
  return std::is_copy_assignable_v<Derived>;
}
template <class Derived> bool Cloneable<Derived>::take_options(const Module& original) {
  auto& to = static_cast<Derived&>(*this);
  const auto& from = static_cast<const Derived&>(original);
  if constexpr (requires { to.parts = from.parts; }) to.parts = from.parts;
  if constexpr (requires { to.options_base = from.options_base; }) to.options_base = from.options_base;
  constexpr bool has_options = requires { to.options = from.options; };
  if constexpr (has_options) to.options = from.options;
  return has_options;
}

}  // namespace tandem::nn

/// Declares `Name`, a shared handle on `NameImpl`.
#define TANDEM_MODULE(Name)                                     \
  class Name : public ::tandem::nn::ModuleHolder<Name##Impl> {  \
   public:                                                      \
    using ::tandem::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
  }
/// The same for a module of the library, which has the code of its clone() in one place: compiling it again for every
/// file that includes the module's header would take longer than most files do.
#define TANDEM_LIBRARY_MODULE(Name)            \
  extern template class Cloneable<Name##Impl>; \
  TANDEM_MODULE(Name)
