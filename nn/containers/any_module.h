// AnyModule: holds a module of any type and calls its forward with arguments of any types.
#pragma once
#include "tandem/nn/containers/any_value.h"
#include "tandem/nn/module.h"

namespace tandem::detail {

/// Calls M::forward with arguments held in AnyValues. forward must not be overloaded; Args are the types of its
/// parameters.
template <class M, class... Args> struct ForwardInvoker {
  static nn::AnyValue invoke(nn::Module& module, std::vector<nn::AnyValue>& given) {
    std::optional<nn::AnyValue> out;
    [&]<size_t... N>(std::index_sequence<N...>) {
      (invoke_with_arity<N>(dynamic_cast<M&>(module), given, out, std::make_index_sequence<N>()), ...);
    }
    (std::make_index_sequence<sizeof...(Args) + 1>());
    TANDEM_CHECK(out, module.name(), "'s forward() method expects ", sizeof...(Args), " argument(s), but received ",
                 given.size(), ". Only arguments with defaults may be omitted");
    return std::move(*out);
  }

 private:
  template <size_t I> using Arg = std::tuple_element_t<I, std::tuple<Args...>>;
  /// Calls forward if exactly N arguments are given; the remaining parameters must have defaults.
  template <size_t N, size_t... I>
  static void invoke_with_arity(M& m, std::vector<nn::AnyValue>& given, std::optional<nn::AnyValue>& out,
                                std::index_sequence<I...>) {
    if constexpr (requires { m.forward(std::declval<Arg<I>>()...); })
      if (given.size() == N)
        out.emplace(detail::call_module(m, static_cast<Arg<I>&&>(checked_argument<I>(m, given[I]))...));
  }
  template <size_t I> static std::decay_t<Arg<I>>& checked_argument(const M& m, nn::AnyValue& value) {
    using T = std::decay_t<Arg<I>>;
    T* const found = value.template try_get<T>();
    TANDEM_CHECK(found, "AnyModule: Expected argument #", I, " to be of type ", demangled_name(typeid(T)),
                 ", but received value of type ", demangled_name(value.type_info()), "; in the forward of ", m.name());
    return *found;
  }
};
/// If forward is a template or overloaded, it is called with one tensor.
template <class M, class Forward = void> struct ForwardTraits { using Call = ForwardInvoker<M, const Tensor&>; };
template <class M>
requires requires { &M::forward; }
struct ForwardTraits<M> {
  template <class R, class C, class... Args> static ForwardInvoker<M, Args...> of(R (C::*)(Args...));
  template <class R, class C, class... Args> static ForwardInvoker<M, Args...> of(R (C::*)(Args...) const);
  template <class R, class C, class... Args> static ForwardInvoker<M, Args...> of(R (C::*)(Args...) noexcept);
  template <class R, class C, class... Args> static ForwardInvoker<M, Args...> of(R (C::*)(Args...) const noexcept);
  using Call = decltype(of(&M::forward));
};

}  // namespace tandem::detail

namespace tandem::nn {

/// Holds a module of any type. Its forward may have any parameters and any result. Arguments must have exactly the
/// declared types, and those with defaults may be omitted.
class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
  requires std::is_base_of_v<Module, M> AnyModule(std::shared_ptr<M> module)
      : module_(std::move(module)), invoke_forward_(&detail::ForwardTraits<M>::Call::invoke) {
    if constexpr (requires(M & m, const Tensor& x) { requires std::is_same_v<decltype(m.forward(x)), Tensor>; })
      invoke_tensor_forward_ = [](Module& m, const Tensor& x) -> Tensor {
        return detail::call_module(dynamic_cast<M&>(m), x);
      };
  }
  template <class M> AnyModule(const ModuleHolder<M>& module) : AnyModule(module.ptr()) {}
  /// Constructs an AnyModule that holds a new module, moved or copied from `module`.
  template <class M>
  requires std::is_base_of_v<Module, std::decay_t<M>>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  /// Calls the module's forward, with its hooks. @throws Error if there is no module, if an argument is not of the
  /// declared type, or if the result is not a Return
  template <class Return = Tensor, class... Args> Return forward(Args&&... args) const {
    if constexpr (std::is_same_v<Return, Tensor> && is_single_argument<Tensor, Args...>)
      if (invoke_tensor_forward_) return invoke_tensor_forward_(*module_, args...);
    return any_forward(std::forward<Args>(args)...).template get<Return>();
  }
  /// Same as forward(), for any type of result; an argument may also be an AnyValue.
  template <class... Args> AnyValue any_forward(Args&&... args) const {
    check_not_empty("forward");
    if constexpr (is_single_argument<Tensor, Args...>)
      if (invoke_tensor_forward_) return AnyValue(invoke_tensor_forward_(*module_, args...));
    if constexpr (is_single_argument<AnyValue, Args...>)
      if (const Tensor* const x = (args.template try_get<Tensor>(), ...); x && invoke_tensor_forward_)
        return AnyValue(invoke_tensor_forward_(*module_, *x));
    std::vector<AnyValue> values;
    values.reserve(sizeof...(Args));
    (values.push_back(AnyValue(std::forward<Args>(args))), ...);
    return invoke_forward_(*module_, values);
  }
  /// Returns a deep copy, on `device` if one is given.
  AnyModule clone(const std::optional<Device>& device = {}) const;
  /// Returns a shared_ptr to the module, as a Module or as an M. @throws Error if the module is not an M
  const std::shared_ptr<Module>& ptr() const { return module_; }
  template <class M>
  requires std::is_base_of_v<Module, M> std::shared_ptr<M> ptr()
  const { return module_as<M>("ptr"); }
  /// Returns a reference to the module (get<LinearImpl>()) or a handle to it (get<Linear>()). @throws Error if the
  /// module is of another class
  template <class M>
  requires std::is_base_of_v<Module, M> M& get() const { return *module_as<M>("get"); }
  template <class Holder, class M = typename Holder::ContainedType> Holder get() const {
    return Holder(module_as<M>("get"));
  }
  /// Returns the class of the module. @throws Error if there is no module
  const std::type_info& type_info() const;
  /// Whether this AnyModule holds no module.
  bool is_empty() const noexcept { return !module_; }

 private:
  friend class SequentialImpl;
  void check_not_empty(const char* op) const {
    TANDEM_CHECK(!is_empty(), "Cannot call ", op, "() on an empty AnyModule");
  }
  /// Returns the module as an M. @throws Error that names `op` if there is no module, or if it is not an M
  template <class M> std::shared_ptr<M> module_as(const char* op) const {
    check_not_empty(op);
    std::shared_ptr<M> found = std::dynamic_pointer_cast<M>(module_);
    TANDEM_CHECK(found, "Attempted to cast module of type ", detail::demangled_name(type_info()), " to type ",
                 detail::demangled_name(typeid(M)));
    return found;
  }
  /// Returns an AnyModule that calls `copy`, a module of the same class.
  AnyModule copy_with_module(std::shared_ptr<Module> copy) const;
  template <class T, class... Args>
  static constexpr bool is_single_argument = sizeof...(Args) == 1 && (std::is_same_v<std::decay_t<Args>, T> && ...);
  std::shared_ptr<Module> module_;
  AnyValue (*invoke_forward_)(Module&, std::vector<AnyValue>&) = nullptr;
  Tensor (*invoke_tensor_forward_)(Module&, const Tensor&) =
      nullptr;  // calls forward without AnyValues if forward maps a tensor to a tensor; else null
};

/// A module with a name, for Sequential: {"fc", nn::Linear(2, 3)}.
class NamedAnyModule {
 public:
  template <class M> NamedAnyModule(std::string name, M module) : name_(std::move(name)), module_(std::move(module)) {}
  /// Returns the name.
  const std::string& name() const noexcept { return name_; }
  /// Returns the module, which is shared with the module passed to the constructor.
  AnyModule& module() noexcept { return module_; }
  /// Returns the module.
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace tandem::nn
