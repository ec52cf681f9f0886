// What autograd keeps beside a tensor: its gradient, the node that made it, and the tensor that it is a view of.
#pragma once
#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::autograd {

/// Where a view was made. Only a view that was made in grad mode may be changed in place where gradients are recorded.
enum class Made { in_grad_mode, in_no_grad_mode, in_inference_mode, in_function };

struct Meta : AutogradRecord {
  bool requires_grad = false;  // of a leaf; anything with a node requires a gradient
  Tensor grad;
  std::shared_ptr<Tensor> retained;  // the gradient of a non-leaf, after retain_grad()
  NodePtr node;
  uint32_t slot = 0;
  std::weak_ptr<AccumulateGrad> accumulator;
  std::mutex mutex;               // guards `accumulator`, which graphs on several threads may ask for
  std::vector<TensorHook> hooks;  // of a leaf
  // A view: the tensor that owns the history, and the version at which `node` was right.
  Tensor base;
  uint32_t node_version = 0;
  // A view that was made together with others ("split", "chunk", "unbind"), or is a view of one; else null. What an
  // in-place change of one of them means for the others has no gradient.
  const char* part_of = nullptr;
  Made made = Made::in_grad_mode;  // of a view, or of the view that it is a view of
};

/// The record, or null when the tensor has none.
inline Meta* find_meta(const Tensor& t) { return static_cast<Meta*>(t.impl()->autograd.get()); }
/// The record, made when missing.
Meta& meta(const Tensor& t);
/// The node that made a tensor, or null; of a view whose base was changed in place, it is made anew.
const NodePtr& grad_fn(const Tensor& t);
/// Makes `view` a view of `x` (of x's base, if x is one): an in-place change of either is seen by both histories. A
/// view that was made without grad mode remembers that: such a change is refused where gradients are recorded.
void set_view_of(const Tensor& view, const Tensor& x);

}  // namespace tandem::autograd
