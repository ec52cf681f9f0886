// Autograd metadata of a tensor: gradient, node, and the base if it is a view.
#pragma once
#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::autograd {

/// Mode in which a view was made. Only views made in grad mode may be changed in place in grad mode.
enum class CreationMeta { in_grad_mode, in_no_grad_mode, in_inference_mode, in_custom_function };

struct AutogradMeta : AutogradMetaInterface {
  bool requires_grad = false;  // set for leaves only, because a tensor with a node always requires a gradient
  Tensor grad;
  std::shared_ptr<Tensor> retained_grad;  // gradient of a non-leaf tensor, kept after retain_grad()
  NodePtr grad_fn;
  uint32_t output_nr = 0;
  std::weak_ptr<AccumulateGrad> grad_accumulator;
  std::mutex mutex;               // guards `grad_accumulator`, because graphs on several threads may request it
  std::vector<TensorHook> hooks;  // for leaves
  // `base`: for a view, the tensor that it was taken from, which owns the history; else undefined. `grad_fn_version`:
  // version of the view for which `grad_fn` is valid.
  Tensor base;
  uint32_t grad_fn_version = 0;
  // Name of the operation ("split", "chunk", "unbind") if it returned this view, or the base of this view, as one of
  // several; else null. Such a view must not be changed in place: the change's effect on the other views would have no
  // gradient.
  const char* multi_output_view_op = nullptr;
  CreationMeta creation_meta =
      CreationMeta::in_grad_mode;  // mode that was active when this view, or the view that it was taken from, was made
};

/// The metadata, or null if the tensor has none.
inline AutogradMeta* get_autograd_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl()->autograd.get()); }
/// The metadata, created if the tensor has none.
AutogradMeta& materialize_autograd_meta(const Tensor& t);
/// The node that made a tensor, or null. For a view whose base was changed in place, a new node is made.
const NodePtr& grad_fn(const Tensor& t);
/// Marks `view` as a view of `x` (of x's base, if x is a view itself), so that an in-place change of either one updates
/// both histories. If grad mode is off, this is noted: in-place changes of the view in grad mode are then an error.
void set_view_base(const Tensor& view, const Tensor& x);

}  // namespace tandem::autograd
