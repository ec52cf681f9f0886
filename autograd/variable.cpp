// Implements the autograd methods of tensors: leaves, histories, views and their bases, gradients, hooks.
#include <algorithm>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/inplace.h"
#include "tandem/autograd/ops.h"

namespace tandem {
namespace autograd {

AutogradMeta& materialize_autograd_meta(const Tensor& t) {
  auto& meta = t.impl()->autograd;
  // `new AutogradMeta` is written without parentheses, because `new AutogradMeta()` would zero the memory before the
  // constructor runs.
  if (!meta) meta = OwnedPtr<AutogradMetaInterface>(new AutogradMeta);
  return static_cast<AutogradMeta&>(*meta);
}

static void set_history(const Tensor& t, const NodePtr& node, uint32_t slot) {
  AutogradMeta& m = materialize_autograd_meta(t);
  if (m.retained_grad) {  // from now on, retain the gradient of the tensor's new value
    if (m.grad_fn) m.grad_fn->remove_retained_grad(m.retained_grad);
    node->add_retained_grad(slot, m.retained_grad);
  }
  m.grad_fn = node;
  m.output_nr = slot;
}

/// Called if the view or its base is changed in place in grad mode. @throws Error if the view was made outside of grad
/// mode or in a custom Function
static void check_creation_meta(const char* op, const Tensor& view, const AutogradMeta& m, const char* changed) {
  if (m.creation_meta == CreationMeta::in_grad_mode) return;
  TANDEM_CHECK(m.creation_meta != CreationMeta::in_custom_function, "Output of Function is a view and ", changed,
               " modified inplace: ", op, ", for a view of ", view.sizes(),
               " that forward() made of its input, whose custom backward this would override; clone() it in forward()");
  const bool inference = m.creation_meta == CreationMeta::in_inference_mode;
  TANDEM_CHECK(false, "A view was created in ", inference ? "inference" : "no_grad", " mode and ", changed,
               " modified inplace ", inference ? "in normal mode" : "with grad mode enabled", ": ", op,
               ", for a view of ", view.sizes(),
               "; make the view and the change both within the guard, or both outside of it");
}

// If the base of a view was changed in place, the view gets a new node, which applies as_strided to the base's new
// history. The base may be a leaf that began to require a gradient after the view was made.
const NodePtr& grad_fn(const Tensor& t) {
  static const auto& none = *new NodePtr;  // never destroyed: tensors may be static
  AutogradMeta* m = get_autograd_meta(t);
  if (!m) return none;
  if (m->base.defined() && m->grad_fn_version != t._version()) {
    if (!m->grad_fn && !m->base.requires_grad()) return m->grad_fn;
    check_creation_meta("a use of it", t, *m, "its base or another view of its base has been");
    TANDEM_CHECK(!m->multi_output_view_op || !m->grad_fn, "Output of ", m->multi_output_view_op,
                 " is a view and its base or another view of its base has been modified inplace. This view is the "
                 "output of a function that returns multiple views. Such functions do not allow the output views to be "
                 "modified inplace. Take the view, of ",
                 t.sizes(), ", again after the change, or change a clone");
    if (grad_fn(m->base) || (!m->grad_fn && m->base.requires_grad())) {
      auto backward = [geometry = ViewGeometry(m->base, t)](const BackwardContext&, const Tensor& dy) -> Grads {
        return {as_strided_backward(dy, geometry)};
      };
      auto node = std::make_shared<LambdaNode<decltype(backward)>>("as_strided", backward);
      node->add_next_edge(m->base);
      set_history(t, node, node->add_output(t));
    }
    m->grad_fn_version = t._version();
  }
  return m->grad_fn;
}

void detail::set_history(const Tensor& t, const NodePtr& node) {
  // If the tensor is a view that an operation made in no-grad mode to compute its result, then the operation's node is
  // its whole history.
  if (AutogradMeta* m = get_autograd_meta(t); m && m->creation_meta != CreationMeta::in_grad_mode) {
    m->base.reset();
    m->creation_meta = CreationMeta::in_grad_mode;
  }
  autograd::set_history(t, node, node->add_output(t));
}

void set_view_base(const Tensor& view, const Tensor& x) {
  // Inference tensors need no view tracking: in grad mode, in-place changes of x are an error.
  if (x.is_inference()) return;
  AutogradMeta* source_meta = get_autograd_meta(x);
  AutogradMeta& m = materialize_autograd_meta(view);
  m.base = source_meta && source_meta->base.defined() ? source_meta->base : x;
  m.multi_output_view_op = source_meta ? source_meta->multi_output_view_op : nullptr;
  m.creation_meta = source_meta ? source_meta->creation_meta : CreationMeta::in_grad_mode;
  if (!is_grad_enabled())
    m.creation_meta = InferenceMode::is_enabled() ? CreationMeta::in_inference_mode : CreationMeta::in_no_grad_mode;
  m.grad_fn_version = view._version();
}

std::shared_ptr<AccumulateGrad> detail::grad_accumulator(const Tensor& leaf) {
  AutogradMeta& m = materialize_autograd_meta(leaf);
  TANDEM_CHECK(!grad_fn(leaf) && m.requires_grad,
               "grad_accumulator() should be only called on leaf Variables that require a gradient");
  const std::lock_guard lock(m.mutex);
  std::shared_ptr<AccumulateGrad> existing = m.grad_accumulator.lock();
  // An accumulator that was made before the leaf changed its dtype or device does not fit a new graph.
  if (!existing || !existing->matches_input_metadata(0, leaf))
    m.grad_accumulator = existing = std::make_shared<AccumulateGrad>(leaf);
  return existing;
}

Edge detail::gradient_edge(const Tensor& t) {
  if (const NodePtr& node = grad_fn(t)) return {node, get_autograd_meta(t)->output_nr};
  // A view without history requires a gradient because its base does, but no gradient flows through the view.
  const AutogradMeta* m = get_autograd_meta(t);
  return m && m->requires_grad ? Edge{grad_accumulator(t), 0} : Edge{};
}

AccumulateGrad::AccumulateGrad(const Tensor& variable) : Node("AccumulateGrad"), variable_(variable) {
  add_output(variable);
}
Tensor AccumulateGrad::run_hooks(uint32_t, Tensor grad) const {
  const std::vector<TensorHook>& hooks = materialize_autograd_meta(variable_).hooks;
  if (hooks.empty()) return grad;
  return apply_hooks(std::move(grad), "a leaf", [&](size_t i) { return i < hooks.size() ? &hooks[i] : nullptr; });
}
Grads AccumulateGrad::apply(Grads&& grads) {
  // The leaf may have required a gradient when the graph was made, but does not any more.
  if (!variable_.requires_grad()) return {};
  accumulate_grad(std::move(grads[0]));
  // Calls the hooks without holding the lock: a hook may add and remove hooks, and run a backward that calls this
  // function again.
  for (size_t i = 0;; ++i) {
    std::function<void(const Tensor&)> hook;
    {
      const std::lock_guard lock(mutex_);
      if (i >= post_hooks_.size()) break;
      hook = post_hooks_[i];
    }
    if (hook) hook(variable_);
  }
  return {};
}
namespace {
/// Whether a gradient can be stored as it is: it has the strides of the variable, or is row-major if the variable is
/// not dense.
bool obeys_layout_contract(const Tensor& grad, const Tensor& variable) {
  if (grad.impl()->row_major && variable.impl()->row_major) [[likely]]
    return true;
  if (!core::is_non_overlapping_and_dense(*variable.impl())) return grad.is_contiguous();
  for (size_t d = 0; d < grad.sizes().size(); ++d)
    if (grad.sizes()[d] != 1 && grad.strides()[d] != variable.strides()[d]) return false;
  return true;
}
/// Copies a gradient to the strides of the variable, recorded if grad mode is on.
Tensor clone_obey_contract(const Tensor& variable, const Tensor& grad) {
  if (grad.impl()->row_major && variable.impl()->row_major) [[likely]]
    return grad.clone();
  if (!core::is_non_overlapping_and_dense(*variable.impl())) return grad.clone(MemoryFormat::Contiguous);
  if (is_grad_enabled()) return grad.clone(variable.suggest_memory_format());
  return core::empty_like(variable, grad.dtype(), grad.device()).copy_(grad);
}
}  // namespace
void AccumulateGrad::accumulate_grad(Tensor new_grad) {
  const std::lock_guard lock(mutex_);
  // A gradient in the memory of a bucket has no history: it becomes an average over ranks, and no rank knows the
  // history of the other ranks.
  const AutoGradMode mode(is_grad_enabled() && !grad_buffer_.defined());
  Tensor& grad = materialize_autograd_meta(variable_).grad;
  if (!grad.defined()) {
    // The gradient can be taken over without a copy if nothing else refers to it and its strides are the variable's.
    const bool can_steal =
        new_grad.use_count() == 1 && obeys_layout_contract(new_grad, variable_) && new_grad.storage()->is_unique();
    if (grad_buffer_.defined()) {
      (grad = grad_buffer_).copy_(new_grad);
    } else if (can_steal && !is_grad_enabled()) {
      grad = std::move(new_grad);
    } else {
      grad = clone_obey_contract(variable_, new_grad);
    }
  } else if (is_grad_enabled()) {
    grad = grad.add(new_grad);  // under create_graph the accumulated gradient keeps its history
  } else {
    grad.add_(new_grad);
  }
}
unsigned AccumulateGrad::add_post_hook(std::function<void(const Tensor&)> hook) {
  const std::lock_guard lock(mutex_);
  post_hooks_.push_back(std::move(hook));
  return static_cast<unsigned>(post_hooks_.size() - 1);
}
void AccumulateGrad::remove_post_hook(unsigned position) {
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(position < post_hooks_.size(), "remove_post_hook: Invalid index, no hook at position ", position,
               "; accepted: what add_post_hook returned");
  post_hooks_[position] = nullptr;
}

void check_no_internal_overlap(const char* op, const Tensor& x) {
  for (int64_t d = 0; d < x.dim() && x.numel() > 0; ++d)
    TANDEM_CHECK(x.stride(d) != 0 || x.size(d) <= 1, op,
                 ": unsupported operation: more than one element of the written-to tensor refers to a single memory "
                 "location. Please clone() the tensor before performing the operation. Got ",
                 x.sizes(), " with strides ", x.strides());
}
void check_inplace(const char* op, const Tensor& x) {
  AutogradMeta* m = get_autograd_meta(x);
  if (m) check_creation_meta(op, x, *m, "is being");
  TANDEM_CHECK(!m || !m->multi_output_view_op, op, ": Output of ", m->multi_output_view_op,
               " is a view and is being modified inplace. This view is the output of a function that returns multiple "
               "views. Such functions do not allow the output views to be modified inplace. Use an out-of-place "
               "operation, or modify a narrow() or select() of the base, or a clone. Got ",
               x.sizes());
  const bool leaf = !grad_fn(x) && m && m->requires_grad;
  TANDEM_CHECK(!leaf, op,
               ": a leaf Variable that requires grad is being used in an in-place operation. Use a NoGradGuard. Got ",
               x.sizes());
  TANDEM_CHECK(
      !m || !m->base.defined() || grad_fn(m->base) || !m->base.requires_grad(), op,
      ": a view of a leaf Variable that requires grad is being used in an in-place operation. Use a NoGradGuard");
}

void assign_inplace(const char* op, Tensor& x, const Tensor& y, InplaceAccess access) {
  AutogradMeta* m = get_autograd_meta(x);
  const bool is_view = m && m->base.defined();
  const Edge old = is_view ? Edge{} : gradient_edge(x);
  {
    const NoGradGuard guard;
    copy_elements(y.detach(), x);
  }
  const AutogradMeta* const made = get_autograd_meta(y);
  if (!is_view && access == InplaceAccess::read_write && made && made->grad_fn && !made->base.defined()) {
    // Makes x the output of y's node, in place of y. So hooks on x also see the gradients that arrive through saved
    // tensors.
    x.bump_version();
    set_history(x, made->grad_fn, made->output_nr);
    return;
  }
  if (!is_view) {
    auto backward = [access](const BackwardContext& ctx, const Tensor& dy) -> Grads {
      return {access == InplaceAccess::overwrite && ctx.needs_grad(0) ? zeros_with_strides_of(dy) : Tensor(), dy};
    };
    auto node = std::make_shared<LambdaNode<decltype(backward)>>(op, backward);
    node->add_next_edge({});
    node->set_next_edges({old});
    node->add_next_edge(y);
    x.bump_version();
    set_history(x, node);
    return;
  }
  // The base gets a new history: the old base with y written over the part that x views. grad_fn() makes x's own node
  // from this history on demand.
  const Tensor base = m->base;
  TANDEM_CHECK(!may_overlap(base.sizes(), base.strides()), op,
               ": unsupported operation: more than one element of the written-to tensor refers to a single memory "
               "location. Please clone() the tensor before performing the operation. Its base is ",
               base.sizes(), " with strides ", base.strides());
  auto backward = [g = ViewGeometry(base, x)](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    Tensor line = g.to_storage_layout(dy), rest;
    const Tensor part = line.as_strided(g.sizes, g.strides, g.offset).clone();
    if (ctx.needs_grad(0)) {
      line.as_strided(g.sizes, g.strides, g.offset).zero_();
      rest = line.as_strided(g.base_sizes, g.base_strides, g.base_offset);
    }
    return {rest, part};
  };
  auto node = std::make_shared<LambdaNode<decltype(backward)>>(op, backward);
  node->add_next_edge(base);
  node->add_next_edge(y);
  x.bump_version();
  set_history(base, node);
}

}  // namespace autograd

using autograd::get_autograd_meta;
using autograd::materialize_autograd_meta;

bool Tensor::requires_grad() const {
  const autograd::AutogradMeta* m = get_autograd_meta(*this);
  return m && (m->requires_grad || m->grad_fn || (m->base.defined() && m->base.requires_grad()));
}
const Tensor& Tensor::requires_grad_(bool wanted) const {
  const bool leaf = is_leaf();
  const autograd::AutogradMeta* const m = get_autograd_meta(*this);
  if (wanted == (!leaf || (m && m->requires_grad))) return *this;
  TANDEM_CHECK(!wanted || is_floating_point(),
               "requires_grad_: only Tensors of floating point dtype can require gradients, got ", dtype());
  TANDEM_CHECK(!wanted || !is_inference() || InferenceMode::is_enabled(),
               "requires_grad_: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed; "
               "use a clone(). Got ",
               sizes());
  TANDEM_CHECK(
      leaf,
      "requires_grad_: you can only change requires_grad flags of leaf variables; use detach() for a part of a graph");
  materialize_autograd_meta(*this).requires_grad = wanted;
  return *this;
}
Tensor& Tensor::requires_grad_(bool wanted) {
  std::as_const(*this).requires_grad_(wanted);
  return *this;
}
bool Tensor::is_leaf() const { return !autograd::grad_fn(*this); }
const autograd::NodePtr& Tensor::grad_fn() const { return autograd::grad_fn(*this); }
std::string Tensor::grad_fn_name() const { return is_leaf() ? "" : autograd::grad_fn(*this)->name(); }

const Tensor& Tensor::grad() const {
  static const auto& none = *new Tensor;  // never destroyed: tensors may be static
  const autograd::AutogradMeta* m = get_autograd_meta(*this);
  return !m ? none : m->retained_grad ? *m->retained_grad : m->grad;
}
Tensor& Tensor::mutable_grad() const {
  autograd::AutogradMeta& m = materialize_autograd_meta(*this);
  return m.retained_grad ? *m.retained_grad : m.grad;
}
void Tensor::zero_grad(bool set_to_none) const {
  if (!grad().defined()) return;
  if (set_to_none)
    mutable_grad().reset();
  else
    mutable_grad() = mutable_grad().detach().zero_();
}

Tensor Tensor::detach() const { return core::alias(*this); }
Tensor& Tensor::detach_() const {
  if (autograd::AutogradMeta* m = get_autograd_meta(self())) {
    TANDEM_CHECK(!m->base.defined(), "detach_: Can't detach views in-place. Use detach() instead");
    m->grad_fn = nullptr;
    m->requires_grad = false;
  }
  return self();
}
Tensor Tensor::data() const {
  Tensor out = core::alias(*this);
  out.impl()->own_version = IntrusivePtr<VersionCounter>(new VersionCounter);
  return out;
}

unsigned Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  TANDEM_CHECK(requires_grad(), "register_hook: cannot register a hook on a tensor that doesn't require gradient");
  if (const auto& node = autograd::grad_fn(*this))
    return node->add_hook(materialize_autograd_meta(*this).output_nr, std::move(hook));
  materialize_autograd_meta(*this).hooks.push_back(std::move(hook));
  return static_cast<unsigned>(materialize_autograd_meta(*this).hooks.size() - 1);
}
void Tensor::remove_hook(unsigned position) const {
  if (const auto& node = autograd::grad_fn(*this)) return node->remove_hook(position);
  TANDEM_CHECK(position < materialize_autograd_meta(*this).hooks.size(),
               "remove_hook: Invalid index, no hook at position ", position, "; accepted: what register_hook returned");
  materialize_autograd_meta(*this).hooks[position] = nullptr;
}
void Tensor::retain_grad() const {
  TANDEM_CHECK(requires_grad(), "retain_grad: can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf()) return;
  auto& retained_grad = materialize_autograd_meta(*this).retained_grad;
  if (retained_grad) return;
  // The retained gradient is a separate object, because the tensor may be gone when its gradient arrives.
  retained_grad = std::make_shared<Tensor>();
  autograd::grad_fn(*this)->add_retained_grad(materialize_autograd_meta(*this).output_nr, retained_grad);
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      TensorList inputs) const {
  autograd::backward({*this}, {gradient}, retain_graph, create_graph, inputs);
}

bool Tensor::retains_grad() const {
  const autograd::AutogradMeta* m = autograd::get_autograd_meta(*this);
  return m && m->retained_grad;
}
bool Tensor::is_view() const {
  const autograd::AutogradMeta* m = autograd::get_autograd_meta(*this);
  return m && m->base.defined();
}
int64_t Tensor::output_nr() const {
  const autograd::AutogradMeta* m = autograd::get_autograd_meta(*this);
  return m ? m->output_nr : 0;
}

}  // namespace tandem
