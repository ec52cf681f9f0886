// record(): how an operation tells autograd what it did. Keeps nothing when no gradient is wanted.
#pragma once
#include <type_traits>

#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// A list of references: building it counts nothing.
using TensorRefs = std::initializer_list<std::reference_wrapper<const Tensor>>;

inline bool any_wants_grad(TensorRefs tensors) {
  if (!is_grad_enabled()) return false;
  for (const Tensor& t : tensors)
    if (wants_grad(t)) return true;
  return false;
}

/// Zeros of x's sizes, dtype, device and strides.
inline Tensor zeros_as(const Tensor& x) { return core::empty_like(x, x.dtype(), x.device()).zero_(); }

/// A node whose backward is a lambda: (const Context&, const Tensor&) -> Grads for one output,
/// (const Context&, const Grads&) -> Grads for several. It captures numbers and shapes; tensors go through `saved`.
template <class Backward> class LambdaNode final : public Node {
 public:
  LambdaNode(const char* name, Backward backward) : Node(name), backward_(std::move(backward)) {}
  Grads apply(Grads&& grads) override {
    if constexpr (std::is_invocable_v<Backward&, const Context&, const Tensor&>)
      return backward_(Context(*this), grads[0]);
    else
      return backward_(Context(*this), static_cast<const Grads&>(grads));
  }

 private:
  Backward backward_;
};

/// Fills a node: edges, outputs, saved tensors. Its own outputs among the saved are kept detached.
void link(const NodePtr& node, ArrayRef<Tensor*> outputs, TensorRefs inputs, TensorRefs saved);
void link(const NodePtr& node, ArrayRef<Tensor*> outputs, ArrayRef<Tensor> inputs, TensorRefs saved);

/// Records `output = op(inputs)`. Integer outputs are never recorded. The backward returns one gradient per input, and
/// is not called for an output whose gradient is undefined.
template <class Backward>
Tensor record(const char* name, Tensor output, TensorRefs inputs, TensorRefs saved, Backward&& backward) {
  if (any_wants_grad(inputs)) [[unlikely]]
    link(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)), {&output},
         inputs, saved);
  return output;
}
/// As above with a list of inputs whose length is known at run time (cat, stack).
template <class Backward>
Tensor record_list(const char* name, Tensor output, ArrayRef<Tensor> inputs, TensorRefs saved, Backward&& backward) {
  bool wanted = false;
  if (is_grad_enabled())
    for (const Tensor& t : inputs) wanted |= wants_grad(t);
  if (wanted)
    link(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)), {&output},
         inputs, saved);
  return output;
}
/// Several outputs go in as a tuple, and the backward gets as many gradients, some of which may be undefined.
template <class... Outputs, class Backward>
std::tuple<Outputs...> record(const char* name, std::tuple<Outputs...> outputs, TensorRefs inputs, TensorRefs saved,
                              Backward&& backward) {
  if (any_wants_grad(inputs)) [[unlikely]]
    std::apply(
        [&](auto&... each) {
          link(std::make_shared<LambdaNode<std::decay_t<Backward>>>(name, std::forward<Backward>(backward)), {&each...},
               inputs, saved);
        },
        outputs);
  return outputs;
}
/// Returns whether a view of x is noted as one. Without grad mode only views of a tensor that requires a gradient are.
inline bool is_view_to_note(const Tensor& x) {
  return is_floating_point(x.dtype()) && (is_grad_enabled() || wants_grad(x));
}
/// Records a view: as record, and in-place changes of the view reach the history of `x`, and the other way round.
template <class Backward> Tensor record_view(const char* name, Tensor output, const Tensor& x, Backward&& backward) {
  output = record(name, std::move(output), {x}, {}, std::forward<Backward>(backward));
  if (is_view_to_note(x)) set_view_of(output, x);
  return output;
}

/// Records the views that x was cut into, one node for all: the backward gets as many gradients, some of which may be
/// undefined, and gives x's, so that its cost does not grow with the square of their number. In-place changes of a part
/// are refused under the name of the op.
template <class Backward>
std::vector<Tensor> record_parts(const char* op, std::vector<Tensor> parts, const Tensor& x, Backward&& backward) {
  if (any_wants_grad({x})) {
    std::vector<Tensor*> outputs;
    outputs.reserve(parts.size());
    for (Tensor& part : parts) outputs.push_back(&part);
    link(std::make_shared<LambdaNode<std::decay_t<Backward>>>(op, std::forward<Backward>(backward)), outputs, {x}, {});
  }
  if (is_view_to_note(x))
    for (const Tensor& part : parts) {
      set_view_of(part, x);
      meta(part).part_of = op;
    }
  return parts;
}

}  // namespace tandem::autograd

namespace tandem {
using autograd::Context;
using autograd::Grads;
using autograd::record;
using autograd::record_list;
using autograd::record_parts;
using autograd::record_view;
}  // namespace tandem
