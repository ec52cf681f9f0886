// Implements AutogradContext and CustomNode, which record the forward of a custom Function and call its backward.
#include "tandem/autograd/function.h"

#include <algorithm>

#include "tandem/autograd/inplace.h"

namespace tandem::autograd {
static bool contains_tensor(const variable_list& list, const Tensor& t) {
  return t.defined() && std::any_of(list.begin(), list.end(), [&](const Tensor& each) { return each.is_same(t); });
}

AutogradContext::AutogradContext() = default;
AutogradContext::~AutogradContext() = default;
void AutogradContext::save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
void AutogradContext::mark_dirty(const variable_list& inputs) { dirty_inputs_ = inputs; }
void AutogradContext::mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }
variable_list AutogradContext::get_saved_variables() const {
  variable_list out;
  out.reserve(num_saved_tensors_);
  for (size_t i = 0; i < num_saved_tensors_; ++i) out.push_back(node_->saved(i).unpack(*node_));
  return out;
}
bool AutogradContext::needs_input_grad(size_t i) const { return node_->task_should_compute_output(i); }
bool AutogradContext::needs_input_grad(std::initializer_list<IndexRange> ranges) const {
  return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) {
    for (size_t i = range.first; i < range.second; ++i)
      if (needs_input_grad(i)) return true;
    return false;
  });
}

CustomNode::CustomNode() : Node("CustomFunction") { context.node_ = this; }
void CustomNode::add_non_tensor_argument() { is_tensor_.push_back(false); }
CustomNode::~CustomNode() = default;
void CustomNode::add_argument(const Tensor& argument) {
  is_tensor_.push_back(true);
  add_next_edge(argument);
  inputs_.push_back(argument);
  any_input_requires_grad_ |= is_grad_enabled() && tensor_requires_grad(argument);
}
void CustomNode::add_argument(const std::optional<Tensor>& argument) {
  if (argument && argument->defined())
    add_argument(*argument);
  else
    add_non_tensor_argument();
}
void CustomNode::add_argument(TensorList arguments) {
  for (const Tensor& argument : arguments) add_argument(argument);
}

Tensor CustomNode::rebase_dirty_input(Tensor& input) {
  check_inplace("Function", input);
  const AutogradMeta* const m = get_autograd_meta(input);
  if (!m || !m->base.defined()) {
    input.bump_version();
    set_history(input, shared_from_this());
    return input;
  }
  // The change goes through the view's base, which gets a new history. That history holds a copy of the view. If it
  // held the view itself, which holds the history, the two would own each other.
  const NoGradGuard guard;
  Tensor copy = input.detach().clone();
  set_history(copy, shared_from_this());
  assign_inplace("Function", input, copy, InplaceAccess::read_write);
  return copy;
}

variable_list CustomNode::wrap_outputs(variable_list outputs) {
  const variable_list inputs = std::move(inputs_), dirty = std::move(context.dirty_inputs_),
                      flat = std::move(context.non_differentiable_), to_save = std::move(context.to_save_);
  for (const Tensor& changed : dirty) {
    TANDEM_CHECK(contains_tensor(outputs, changed),
                 "Function: Some elements marked as dirty during the forward method were not returned as output. The "
                 "inputs that are modified inplace must all be outputs of the Function, but ",
                 changed.sizes(), " is not");
    TANDEM_CHECK(contains_tensor(inputs, changed), "Function: mark_dirty was given a tensor of ", changed.sizes(),
                 " that is not an argument of forward");
  }
  if (!any_input_requires_grad_) return outputs;
  variable_list kept =
      outputs;  // for each output: the tensor to store if forward called save_for_backward() with this output
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& output = outputs[i];
    is_undefined_output_.push_back(!output.defined());
    if (!output.defined()) {
      add_output(core::empty({0}, DType::float32, kCPU));
      continue;
    }
    const bool differentiable = output.is_floating_point() && !contains_tensor(flat, output);
    if (differentiable && contains_tensor(dirty, output)) {
      kept[i] = rebase_dirty_input(output);
      continue;
    }
    // An output that is an input or has history already is returned as an alias, so that the original keeps its own
    // history.
    const AutogradMeta* const m = get_autograd_meta(output);
    const Tensor base = contains_tensor(inputs, output) ? output : m ? m->base : Tensor();
    if (contains_tensor(inputs, output) || m) output = core::alias(output);
    if (differentiable) {
      set_history(output, shared_from_this());
      if (base.defined()) {
        set_view_base(output, base);
        materialize_autograd_meta(output).creation_meta = CreationMeta::in_custom_function;
      }
    } else
      add_output(output);
    kept[i] = output;
  }
  for (const Tensor& t : to_save) {
    size_t at = outputs.size();
    for (size_t i = 0; t.defined() && i < outputs.size(); ++i)
      if (outputs[i].defined() && outputs[i].is_same(t)) at = i;
    const bool has_history =
        at < outputs.size() && get_autograd_meta(kept[at]) && get_autograd_meta(kept[at])->grad_fn.get() == this;
    save_tensor(has_history ? kept[at] : t, has_history);
  }
  context.num_saved_tensors_ = to_save.size();
  return outputs;
}

Grads CustomNode::apply(Grads&& grads) {
  for (size_t i = 0; context.materialize_grads_ && i < grads.size(); ++i)
    if (!grads[i].defined() && !is_undefined_output_[i]) grads[i] = make_zero_grad(i);
  variable_list all = call_backward(std::move(grads)), tensor_grads;
  // backward may also return undefined gradients for arguments of forward that apply() left at their defaults. Drops
  // them.
  while (all.size() > is_tensor_.size() && !all.back().defined()) all.pop_back();
  TANDEM_CHECK(all.size() == is_tensor_.size(),
               "Function: backward returned an incorrect number of gradients (expected ", is_tensor_.size(), ", got ",
               all.size(), "); return an undefined Tensor for an argument of forward without a gradient");
  for (size_t i = 0; i < all.size(); ++i)
    if (is_tensor_[i]) tensor_grads.push_back(std::move(all[i]));
  return tensor_grads;
}

}  // namespace tandem::autograd
