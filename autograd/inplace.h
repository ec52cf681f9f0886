// In-place operations. Without gradients they write straight into the tensor; with them, the result is computed beside
// it and assigned, so that one rule (assign) gives every in-place operation its history.
#pragma once
#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// Refuses to write to a tensor that holds an element more than once, as an expanded one does.
void check_writable(const char* op, const Tensor& x);
/// Refuses to change in place what backward will need as it is: a leaf that requires a gradient, or a view of one; and
/// a part that split, chunk or unbind made.
void check_inplace(const char* op, const Tensor& x);
/// Whether an in-place operation computes with the elements that were there, or replaces them.
enum class Old { used, replaced };
/// x = y, elements and history: x becomes an output of the op that made y, through x's base if x is a view. y has x's
/// shape, dtype and device. What x was before gets a gradient through y if y was made of it, zeros if it was replaced.
void assign(const char* op, Tensor& x, const Tensor& y, Old old);

/// `direct()` writes into x; `op(x)` computes the result beside x, recorded. x is written over afterwards, so an op
/// that saves its input must be given a copy.
template <class Direct, class Op>
Tensor& inplace(const char* name, Tensor& x, TensorRefs others, Direct&& direct, Op&& op, Old old = Old::used) {
  check_changeable(name, x);
  if (!x.is_contiguous()) check_writable(name, x);
  const bool real = x.is_floating_point();  // integers have no gradient, whatever is written into them
  if (is_grad_enabled() && real && (wants_grad(x) || any_wants_grad(others))) {
    check_inplace(name, x);
    assign(name, x, op(x), old);
  } else {
    direct();
    x.bump_version();
  }
  return x;
}

}  // namespace tandem::autograd
