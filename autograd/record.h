// record_op(): tells autograd which operation was computed. Does nothing if no gradient is needed.
#pragma once
#include <type_traits>

#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// A list of references to tensors: building it changes no reference count.
using TensorRefs = std::initializer_list<std::reference_wrapper<const Tensor>>;

inline bool any_requires_grad(TensorRefs tensors) {
  if (!is_grad_enabled()) return false;
  for (const Tensor& t : tensors)
    if (tensor_requires_grad(t)) return true;
  return false;
}

/// Zeros with the sizes, dtype, device and strides of x.
inline Tensor zeros_with_strides_of(const Tensor& x) { return core::empty_like(x, x.dtype(), x.device()).zero_(); }

/// A node whose backward is a lambda: (const Context&, const Tensor&) -> Grads for one output, (const Context&, const
/// Grads&) -> Grads for several. It captures numbers and shapes; tensors must be passed as `saved`.
template <class Backward> class LambdaNode final : public Node {
 public:
  LambdaNode(const char* name, Backward backward) : Node(name), backward_(std::move(backward)) {}
  Grads apply(Grads&& grads) override {
    if constexpr (std::is_invocable_v<Backward&, const BackwardContext&, const Tensor&>)
      return backward_(BackwardContext(*this), grads[0]);
    else
      return backward_(BackwardContext(*this), static_cast<const Grads&>(grads));
  }

 private:
  Backward backward_;
};

/// Sets the edges, outputs and saved tensors of a node. Outputs among the saved tensors are kept detached.
void connect_node(const NodePtr& node, ArrayRef<Tensor*> outputs, TensorRefs inputs, TensorRefs saved);
void connect_node(const NodePtr& node, ArrayRef<Tensor*> outputs, ArrayRef<Tensor> inputs, TensorRefs saved);

/// Records `output = op(inputs)`. Integer outputs are never recorded. The backward returns one gradient for each input;
/// it is not called if the gradient of the output is undefined.
template <class Backward>
Tensor record_op(const char* name, Tensor output, TensorRefs inputs, TensorRefs saved, Backward&& backward) {
  if (any_requires_grad(inputs)) [[unlikely]]
    connect_node(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)),
                 {&output}, inputs, saved);
  return output;
}
/// record_op() for a number of inputs that is known only at run time (cat, stack).
template <class Backward>
Tensor record_list_op(const char* name, Tensor output, ArrayRef<Tensor> inputs, TensorRefs saved, Backward&& backward) {
  bool wanted = false;
  if (is_grad_enabled())
    for (const Tensor& t : inputs) wanted |= tensor_requires_grad(t);
  if (wanted)
    connect_node(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)),
                 {&output}, inputs, saved);
  return output;
}
/// record_op() for several outputs, passed as a tuple. The backward receives a gradient for each; some may be
/// undefined.
template <class... Outputs, class Backward>
std::tuple<Outputs...> record_op(const char* name, std::tuple<Outputs...> outputs, TensorRefs inputs, TensorRefs saved,
                                 Backward&& backward) {
  if (any_requires_grad(inputs)) [[unlikely]]
    std::apply(
        [&](auto&... each) {
          connect_node(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)),
                       {&each...}, inputs, saved);
        },
        outputs);
  return outputs;
}
/// Whether to mark views of x as views. Without grad mode, only views of tensors that require a gradient are marked.
inline bool should_track_view(const Tensor& x) {
  return is_floating_point(x.dtype()) && (is_grad_enabled() || tensor_requires_grad(x));
}
/// Records a view: as record_op(), and in-place changes of the view or of `x` update the histories of both.
template <class Backward> Tensor record_view(const char* name, Tensor output, const Tensor& x, Backward&& backward) {
  output = record_op(name, std::move(output), {x}, {}, std::forward<Backward>(backward));
  if (should_track_view(x)) set_view_base(output, x);
  return output;
}

/// Records the views into which x was split, with one node for all of them, so that the cost of backward does not grow
/// with the square of their number. The backward receives a gradient for each view (some may be undefined) and returns
/// the gradient of x. In-place changes of a view are an error that names `op`.
template <class Backward>
std::vector<Tensor> record_multi_output_view(const char* op, std::vector<Tensor> parts, const Tensor& x,
                                             Backward&& backward) {
  if (any_requires_grad({x})) {
    std::vector<Tensor*> outputs;
    outputs.reserve(parts.size());
    for (Tensor& part : parts) outputs.push_back(&part);
    connect_node(std::make_shared<LambdaNode<std::decay_t<Backward>>>(op, std::forward<Backward>(backward)), outputs,
                 {x}, {});
  }
  if (should_track_view(x))
    for (const Tensor& part : parts) {
      set_view_base(part, x);
      materialize_autograd_meta(part).multi_output_view_op = op;
    }
  return parts;
}

}  // namespace tandem::autograd

namespace tandem {
using autograd::BackwardContext;
using autograd::Grads;
using autograd::record_list_op;
using autograd::record_multi_output_view;
using autograd::record_op;
using autograd::record_view;
}  // namespace tandem
