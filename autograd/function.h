// Custom differentiable functions: a struct with static forward and backward, as torch::autograd::Function.
#pragma once
#include <map>

#include "tandem/autograd/ivalue.h"
#include "tandem/autograd/node.h"

namespace tandem::autograd {

using IndexRange = std::pair<size_t, size_t>;  // range [first, second) of positions among the tensor arguments

namespace detail {
class CustomNode;
template <class T> class FunctionNode;
}  // namespace detail

/// Holds the data that forward saves for backward.
class AutogradContext {
 public:
  AutogradContext();
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;
  /// Saves tensors for backward: inputs, outputs, others or undefined tensors. It is an error to change them in place
  /// before backward. Call this in forward, once.
  void save_for_backward(variable_list tensors);
  /// The saved tensors, in order. @throws Error if a saved tensor was changed in place after it was saved
  variable_list get_saved_variables() const;
  /// Declares that forward changes these inputs in place. forward must return each of them; they become outputs.
  /// If one is not returned, is not an argument of forward, or is a leaf that requires a gradient, apply() throws
  /// Error.
  void mark_dirty(const variable_list& inputs);
  /// Declares that these outputs are not differentiable: they do not require a gradient, and backward receives zeros
  /// for them, or undefined tensors after set_materialize_grads(false).
  void mark_non_differentiable(const variable_list& outputs);
  /// Sets whether backward receives zeros (the default) or undefined tensors for outputs that received no gradient.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  /// Whether the running backward needs the gradient of tensor argument i. Only tensors are counted, including each
  /// tensor of a TensorList; a std::optional<Tensor> without a defined tensor is not counted.
  bool needs_input_grad(size_t i) const;
  /// Whether the running backward needs the gradient of any tensor argument in these ranges.
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;
  std::map<std::string, IValue> saved_data;  // other data for backward

 private:
  friend class detail::CustomNode;
  variable_list to_save_, dirty_inputs_, non_differentiable_;
  size_t num_saved_tensors_ = 0;
  bool materialize_grads_ = true;
  const Node* node_ = nullptr;
};

namespace detail {

/// Base class of the nodes of all custom functions.
class CustomNode : public Node {
 public:
  CustomNode();
  ~CustomNode() override;
  /// Registers an argument of forward.
  void add_argument(const Tensor& argument);
  void add_argument(const std::optional<Tensor>& argument);
  void add_argument(TensorList arguments);
  void add_non_tensor_argument();
  /// Records history for the outputs of forward and saves tensors, if a gradient is needed.
  /// @return  the outputs that apply() returns
  variable_list wrap_outputs(variable_list outputs);
  Grads apply(Grads&& grads) override;

  AutogradContext context;

 private:
  virtual variable_list call_backward(variable_list grads) = 0;
  /// Makes an input that forward changed in place the next output of this node. Returns the tensor to save if backward
  /// needs the changed input.
  Tensor rebase_dirty_input(Tensor& input);

  std::vector<bool> is_tensor_;            // for each argument of forward, whether it is a tensor
  std::vector<bool> is_undefined_output_;  // for each output of forward, whether it was undefined
  variable_list inputs_;                   // tensor arguments of forward; wrap_outputs() clears the list
  bool any_input_requires_grad_ = false;
};

template <class T> class FunctionNode final : public CustomNode {
  variable_list call_backward(variable_list grads) override { return T::backward(&context, std::move(grads)); }
};

}  // namespace detail

/// Base class for custom functions. Derive as `struct Exp : Function<Exp>` with
///   static Tensor forward(AutogradContext* ctx, const Tensor& x, double k);   // or variable_list
///   static variable_list backward(AutogradContext* ctx, variable_list grads); // one entry per argument of forward
/// and call Exp::apply(x, k). forward is not recorded; backward may be differentiated again if it uses public
/// operations. Arguments that may have gradients: Tensor, std::optional<Tensor>, and the tensors of a TensorList, each
/// of which counts as one argument.
template <class Self> class Function {
 public:
  /// Runs Self::forward(context, arguments...) without recording, and records Self::backward as its derivative.
  /// Exceptions of forward pass through. Backward throws Error if the gradients do not fit the arguments.
  /// @return the result of forward: a tensor, or a list of tensors
  template <class... Args> static auto apply(Args&&... args) {
    auto node = std::make_shared<detail::FunctionNode<Self>>();
    const auto note = [&](const auto& argument) {
      using Argument = std::decay_t<decltype(argument)>;
      if constexpr (std::is_same_v<Argument, Tensor> || std::is_same_v<Argument, std::optional<Tensor>> ||
                    std::is_same_v<Argument, TensorList>)
        node->add_argument(argument);
      else
        node->add_non_tensor_argument();
    };
    (note(args), ...);
    auto result = [&] {
      const NoGradGuard guard;
      return Self::forward(&node->context, args...);
    }();
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return node->wrap_outputs({std::move(result)})[0];
    else
      return node->wrap_outputs(std::move(result));
  }
};

}  // namespace tandem::autograd
