// Custom differentiable functions: a struct with static forward and backward, as torch::autograd::Function.
#pragma once
#include <map>

#include "tandem/autograd/ivalue.h"
#include "tandem/autograd/node.h"

namespace tandem::autograd {

using IndexRange = std::pair<size_t, size_t>;  // of tensor arguments: the first, and the one behind the last

namespace detail {
class CustomNode;
template <class T> class FunctionNode;
}  // namespace detail

/// Carries what forward saves to backward.
class AutogradContext {
 public:
  AutogradContext();
  ~AutogradContext();
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;
  /// Tensors that backward needs, inputs and outputs alike, undefined ones too; changing them in place before backward
  /// is an error. For forward, once.
  void save_for_backward(variable_list tensors);
  /// The tensors that save_for_backward() kept, in that order. @throws Error when one was changed in place since
  variable_list get_saved_variables() const;
  /// Says that forward changes these inputs in place. It returns each of them, and from then on they are what it made
  /// of them. apply() @throws Error when one is not returned, or is a leaf that requires a gradient
  void mark_dirty(const variable_list& inputs);
  /// Says that these outputs have no gradient: they require none, and backward gets zeros for theirs.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether backward gets zeros for the gradient of an output that took no part, as it does unless told otherwise, or
  /// an undefined tensor.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  /// Whether the backward that is running wants the gradient of tensor argument i. Arguments that are no tensors do not
  /// count; each tensor of a TensorList does.
  bool needs_input_grad(size_t i) const;
  /// Whether it wants one of these ranges.
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;
  std::map<std::string, IValue> saved_data;  // whatever else backward needs

 private:
  friend class detail::CustomNode;
  variable_list to_save_, dirty_, non_differentiable_;
  size_t saved_count_ = 0;
  bool materialize_grads_ = true;
  const Node* node_ = nullptr;
};

namespace detail {

/// What the nodes of all custom functions have in common.
class CustomNode : public Node {
 public:
  CustomNode();
  ~CustomNode() override;
  /// Notes an argument of forward.
  void add_argument(const Tensor& argument);
  void add_argument(const std::optional<Tensor>& argument);
  void add_argument(TensorList arguments);
  void add_other_argument();
  /// Gives what forward returned its history, and saves what it asked for, if a gradient is wanted.
  /// @return  what apply() returns
  variable_list finish(variable_list outputs);
  Grads apply(Grads&& grads) override;

  AutogradContext context;

 private:
  virtual variable_list call_backward(variable_list grads) = 0;
  /// An input that forward changed becomes output number slot_count() of this node; what backward may keep of it.
  Tensor make_output_of_dirty(Tensor& input);

  std::vector<bool> is_tensor_;      // of each argument
  std::vector<bool> has_no_output_;  // of each output: it was undefined
  variable_list inputs_;             // until finish()
  bool wanted_ = false;
};

template <class T> class FunctionNode final : public CustomNode {
  variable_list call_backward(variable_list grads) override { return T::backward(&context, std::move(grads)); }
};

}  // namespace detail

/// Derive as `struct Exp : Function<Exp>` with
///   static Tensor forward(AutogradContext* ctx, const Tensor& x, double k);   // or variable_list
///   static variable_list backward(AutogradContext* ctx, variable_list grads); // one entry per argument of forward
/// and call Exp::apply(x, k). forward records nothing; backward may be differentiated again if it uses public ops. Of
/// the arguments a Tensor, an optional<Tensor> and the tensors of a TensorList may have gradients; a TensorList counts
/// as as many arguments as it has tensors.
template <class Self> class Function {
 public:
  /// Runs F::forward(context, arguments...) unrecorded and records F::backward as its derivative. @return what forward
  /// returns: a tensor, or a list of them @throws what forward throws, and Error for gradients that do not fit when
  /// backward runs
  template <class... Args> static auto apply(Args&&... args) {
    auto node = std::make_shared<detail::FunctionNode<Self>>();
    const auto note = [&](const auto& argument) {
      using Argument = std::decay_t<decltype(argument)>;
      if constexpr (std::is_same_v<Argument, Tensor> || std::is_same_v<Argument, std::optional<Tensor>> ||
                    std::is_same_v<Argument, TensorList>)
        node->add_argument(argument);
      else
        node->add_other_argument();
    };
    (note(args), ...);
    auto result = [&] {
      const NoGradGuard guard;
      return Self::forward(&node->context, args...);
    }();
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return node->finish({std::move(result)})[0];
    else
      return node->finish(std::move(result));
  }
};

}  // namespace tandem::autograd
