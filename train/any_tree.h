// AnyTree: a batch or an output of any type, so that the Trainer's loop need not be a template. Internal.
#pragma once
#include <any>

#include "tandem/core/tensor_tree.h"

namespace tandem::train::detail {

/// A value of any type. If its type holds tensors (core/tensor_tree.h), they can be visited, and so moved to a device,
/// split and joined. A copy has its own list of tensors, which share their elements with the original's.
class AnyTree {
 public:
  using Visitor = std::function<void(Tensor&)>;
  AnyTree() = default;
  template <class T>
  explicit AnyTree(T value)
      : value_(std::move(value)),
        visit_([](std::any& held, const Visitor& f) { tandem::detail::visit_tensors(*std::any_cast<T>(&held), f); }) {}
  /// Returns the value. @throws Error that names both types if the value has another type
  template <class T> const T& get() const {
    const T* const value = std::any_cast<T>(&value_);
    if (!value) throw_wrong_type(typeid(T));
    return *value;
  }
  /// Calls f with each tensor.
  void visit(const Visitor& f) {
    if (visit_) visit_(value_, f);
  }
  /// Returns the first size of the first tensor that has one; 1 if there is none.
  int64_t rows() const;
  /// Moves all tensors to a device. Copies from page-locked memory to a GPU are asynchronous.
  void move_to(Device device);

 private:
  [[noreturn]] void throw_wrong_type(const std::type_info& wanted) const;
  std::any value_;
  void (*visit_)(std::any&, const Visitor&) = nullptr;
};

}  // namespace tandem::train::detail

namespace tandem {
template <> struct TensorTree<train::detail::AnyTree> {
  static constexpr bool kHasTensors = true, kIsKnownType = true, kHasOnlyTensors = true;
  template <class Value, class F> static void visit(Value& tree, const F& f) {
    const_cast<train::detail::AnyTree&>(tree).visit(
        [&f](Tensor& t) { f(static_cast<std::conditional_t<std::is_const_v<Value>, const Tensor, Tensor>&>(t)); });
  }
};
}  // namespace tandem
