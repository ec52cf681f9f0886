// Custom differentiable functions: a struct with static forward and backward, as torch::autograd::Function.
#pragma once
#include <map>

#include "tandem/autograd/ivalue.h"
#include "tandem/autograd/node.h"

namespace tandem::autograd {

namespace detail {
template <class T> class FunctionNode;
}

/// Carries what forward saves to backward.
class AutogradContext {
 public:
  /// Tensors that backward needs, inputs and outputs alike; changing them in place before backward is an error.
  void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
  variable_list get_saved_variables() const {
    variable_list out;
    for (size_t i = 0; i < saved_count_; ++i) out.push_back(node_->saved(i).unpack(*node_));
    return out;
  }
  bool needs_input_grad(size_t i) const { return node_->needs_grad(i); }
  std::map<std::string, IValue> saved_data;  // whatever else backward needs

 private:
  template <class> friend class Function;
  template <class> friend class detail::FunctionNode;
  variable_list to_save_;
  size_t saved_count_ = 0;
  const Node* node_ = nullptr;
};

namespace detail {
template <class T> class FunctionNode final : public Node {
 public:
  FunctionNode() : Node("CustomFunction") {}
  Grads apply(Grads&& grads) override {
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = zeros_for(i);
    variable_list all = T::backward(&context, std::move(grads)), tensors_only;
    // Arguments of forward that apply() left to their defaults have no gradient either.
    while (all.size() > is_tensor.size() && !all.back().defined()) all.pop_back();
    TANDEM_CHECK(all.size() == is_tensor.size(), "Function: backward returned ", all.size(), " gradients for ",
                 is_tensor.size(), " arguments of forward; return an undefined Tensor for those that have none");
    for (size_t i = 0; i < all.size(); ++i)
      if (is_tensor[i]) tensors_only.push_back(std::move(all[i]));
    return tensors_only;
  }
  AutogradContext context;
  std::vector<bool> is_tensor;
};
}  // namespace detail

/// Derive as `struct Exp : Function<Exp>` with
///   static Tensor forward(AutogradContext* ctx, const Tensor& x, double k);   // or variable_list
///   static variable_list backward(AutogradContext* ctx, variable_list grads); // one entry per argument of forward
/// and call Exp::apply(x, k). forward records nothing; backward may be differentiated again if it uses public ops.
template <class Self> class Function {
 public:
  template <class... Args> static auto apply(Args&&... args) {
    auto node = std::make_shared<detail::FunctionNode<Self>>();
    AutogradContext& context = node->context;
    context.node_ = node.get();
    bool wanted = false;
    const auto note = [&](const auto& argument) {
      constexpr bool tensor = std::is_same_v<std::decay_t<decltype(argument)>, Tensor>;
      node->is_tensor.push_back(tensor);
      if constexpr (tensor) {
        node->add_input(argument);
        wanted |= is_grad_enabled() && detail::wants_grad(argument);
      }
    };
    (note(args), ...);
    auto result = [&] {
      const NoGradGuard guard;
      return Self::forward(&context, args...);
    }();
    variable_list outputs;
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      outputs = {result};
    else
      outputs = result;
    if (!wanted) return result;
    const auto is_argument = [&](const Tensor& output) {
      const auto same = [&](const auto& argument) {
        if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, Tensor>) return argument.is_same(output);
        return false;
      };
      return (same(args) || ...);
    };
    for (Tensor& output : outputs) {
      if (is_argument(output) || output.impl()->autograd)
        output = tandem::detail::core::alias(output);  // what it was keeps its own history
      if (output.is_floating_point())
        detail::set_history(output, node);
      else
        node->add_output(output);
    }
    for (const Tensor& t : context.to_save_) {
      bool is_output = false;
      for (const Tensor& output : outputs) is_output |= output.is_same(t);
      node->save(t, is_output);
    }
    context.saved_count_ = context.to_save_.size();
    context.to_save_.clear();
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return outputs[0];
    else
      return outputs;
  }
};

}  // namespace tandem::autograd
