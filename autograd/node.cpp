// Node and SavedTensor: links nodes to the nodes of their inputs, checks versions of saved tensors, and runs hooks.
#include "tandem/autograd/node.h"

#include <algorithm>

#include "tandem/autograd/anomaly_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/record.h"
#include "tandem/core/trace/op_span.h"

namespace tandem::autograd {

// Note [Iterative release]: a graph may be 100,000 nodes deep. Each node holds the next one by its edges and saved
// tensors, so nested destructors would overflow the stack. The first destructor on a thread therefore collects the
// edges and tensors of the others and destroys them in a loop.
struct NodeContents {
  std::vector<Edge> edges;
  std::vector<SavedTensor> saved;
};
static thread_local std::vector<NodeContents>* deferred_releases = nullptr;
static void release_iteratively(NodeContents contents) {
  if (contents.edges.empty() && contents.saved.empty()) return;
  if (deferred_releases) return deferred_releases->push_back(std::move(contents));
  std::vector<NodeContents> queue;
  deferred_releases = &queue;
  for (;;) {
    // The destructor of `last` adds the contents of further nodes to the queue.
    { const NodeContents last = std::move(contents); }
    if (queue.empty()) break;
    contents = std::move(queue.back());
    queue.pop_back();
  }
  deferred_releases = nullptr;
}

/// Result of the pack hook for a tensor, and the tensor's history, which the hooks do not see.
struct detail::PackedTensor {
  std::shared_ptr<const SavedTensorHooks> hooks;
  std::any packed_value;
  Edge edge;  // edge to the node that made the tensor; not set for an output of the saving node
};

SavedTensor::SavedTensor(const Tensor& tensor, bool is_output) : is_output_(is_output) {
  if (!tensor.defined()) return;
  TANDEM_CHECK(!tensor.is_inference(),
               "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
               "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
               "use it in autograd, or use NoGradGuard instead of InferenceMode. Got a tensor of ",
               tensor.sizes());
  saved_version_ = tensor._version();
  if (is_output) output_nr_ = materialize_autograd_meta(tensor).output_nr;
  if (const auto& hooks = ThreadContext::current().saved_tensor_hooks) {
    const auto packed = std::make_shared<PackedTensor>();
    packed->hooks = hooks;
    if (!is_output) packed->edge = gradient_edge(tensor);
    const NoGradGuard guard;  // the operations that the hook calls must not save tensors in turn
    packed->packed_value = hooks->pack(core::alias(tensor));
    packed_ = packed;
    return;
  }
  tensor_ = is_output ? core::alias(tensor) : tensor;
}

Tensor SavedTensor::unpack(const std::string& owner) const {
  if (packed_) {
    const NoGradGuard guard;
    const Tensor data = packed_->hooks->unpack(packed_->packed_value);
    TANDEM_CHECK(data.defined(), "backward of ", owner,
                 ": the unpack hook of a saved tensor returned an undefined tensor; it must return the saved values");
    Tensor out = core::alias(data);
    if (packed_->edge.function) {
      materialize_autograd_meta(out).grad_fn = packed_->edge.function;
      materialize_autograd_meta(out).output_nr = packed_->edge.input_nr;
    }
    return out;
  }
  if (!tensor_.defined()) return {};
  TANDEM_CHECK(tensor_._version() == saved_version_, "backward of ", owner,
               ": one of the variables needed for gradient computation has been modified by an inplace operation: [",
               tensor_.dtype(), " ", tensor_.sizes(), "] is at version ", tensor_._version(), "; expected version ",
               saved_version_, " instead. Modify a clone instead");
  return tensor_;
}
Tensor SavedTensor::unpack(const Node& owner) const {
  const Tensor data = unpack(owner.name());
  if (!is_output_ || !data.defined()) return data;
  Tensor out = core::alias(data);
  AutogradMeta& m = materialize_autograd_meta(out);
  m.grad_fn = const_cast<Node&>(owner).shared_from_this();
  m.output_nr = output_nr_;
  return out;
}

Tensor BackwardContext::saved(size_t i) const { return node_.saved(i).unpack(node_); }
bool BackwardContext::needs_grad(size_t i) const { return node_.task_should_compute_output(i); }
/// Returns an alias of dx, recorded as an operation on dx and the tensors that `to` leads to. Its derivative is ddx for
/// dx, and others(ddx) for each of these tensors.
template <class Others> static Tensor record_alias_with_edges(std::vector<Edge> to, const Tensor& dx, Others others) {
  auto backward = [others, count = to.size()](const BackwardContext&, const Tensor& ddx) -> Grads {
    Grads grads(count, others(ddx));
    grads.push_back(ddx);
    return grads;
  };
  auto node = std::make_shared<LambdaNode<decltype(backward)>>("flat_in", backward);
  node->set_next_edges(std::move(to));
  node->add_next_edge(dx);
  const Tensor y = core::alias(dx);
  set_history(y, node);
  return y;
}
Tensor BackwardContext::attach_zero_derivative(size_t i, const Tensor& dx) const {
  if (!is_grad_enabled() || !node_.needs_grad(i)) return dx;
  const Edge& edge = node_.edges()[i];
  return record_alias_with_edges(
      {edge}, dx, [metadata = edge.function->input_metadata(edge.input_nr)](const Tensor& ddx) {
        return metadata.sizes == ddx.sizes() ? zeros_with_strides_of(ddx)
                                             : core::empty(metadata.sizes, metadata.dtype, metadata.device).zero_();
      });
}
Tensor BackwardContext::attach_zero_derivative(std::initializer_list<size_t> inputs, const Tensor& dx) const {
  std::vector<Edge> to;
  for (const size_t i : inputs)
    if (node_.needs_grad(i)) to.push_back(node_.edges()[i]);
  if (!is_grad_enabled() || to.empty() || !dx.defined()) return dx;
  return record_alias_with_edges(std::move(to), dx, [](const Tensor&) { return Tensor(); });
}

Node::Node(std::string name)
    : sequence_nr_(ThreadContext::current().next_sequence_nr++),
      streams_(ThreadContext::current().streams),
      name_(std::move(name)) {
  if (AnomalyMode::is_enabled() || current_module_frame) [[unlikely]]
    anomaly_metadata_ = capture_anomaly_metadata();
}
Node::~Node() { release_iteratively({std::move(edges_), std::move(saved_)}); }

void Node::release_variables() {
  release_iteratively({{}, std::move(saved_)});
  saved_.clear();
  released_ = true;
}

void Node::add_next_edge(const Tensor& input) {
  edges_.push_back(input.defined() && tensor_requires_grad(input) ? gradient_edge(input) : Edge{});
}
uint32_t Node::add_output(const Tensor& output) {
  device_ = output.device();
  input_metadata_.push_back({output.sizes(), output.dtype(), output.device()});
  return static_cast<uint32_t>(input_metadata_.size() - 1);
}

void Node::set_next_edges(std::vector<Edge> edges) { edges_ = std::move(edges); }
void Node::save_tensor(const Tensor& tensor, bool is_output) { saved_.emplace_back(tensor, is_output); }
void Node::add_retained_grad(uint32_t slot, std::shared_ptr<Tensor> cell) {
  retained_grads_.emplace_back(slot, std::move(cell));
}
unsigned Node::add_hook(uint32_t slot, TensorHook hook) {
  hooks_.emplace_back(slot, std::move(hook));
  return static_cast<unsigned>(hooks_.size() - 1);
}
void Node::remove_hook(unsigned position) {
  TANDEM_CHECK(position < hooks_.size(), "remove_hook: Invalid index, no hook at position ", position,
               "; accepted: what add_hook returned");
  hooks_[position].second = nullptr;
}
void Node::remove_retained_grad(const std::shared_ptr<Tensor>& cell) {
  std::erase_if(retained_grads_, [&](const auto& entry) { return entry.second == cell; });
}
Tensor detail::apply_hooks(Tensor grad, const std::string& where, const std::function<const TensorHook*(size_t)>& at) {
  for (size_t i = 0; const TensorHook* const there = at(i); ++i) {
    const TensorHook hook = *there;  // a copy of the hook, because the call may change the list of hooks
    if (!hook) continue;
    Tensor replaced = hook(grad);
    if (!replaced.defined()) continue;
    TANDEM_CHECK(replaced.sizes() == grad.sizes(), "a hook on ", where, " has changed the size of value: it returned ",
                 replaced.sizes(), " for a gradient of ", grad.sizes());
    TANDEM_CHECK(replaced.device() == grad.device(), "a hook on ", where,
                 " has changed the device of value: it returned a tensor on ", replaced.device(), " for a gradient on ",
                 grad.device());
    grad = std::move(replaced);
  }
  return grad;
}
Tensor Node::run_hooks(uint32_t slot, Tensor grad) const {
  static const auto& none = *new TensorHook;  // never destroyed: a backward may run while static objects are destroyed
  if (!hooks_.empty())
    grad = apply_hooks(std::move(grad), "the output of " + name_, [&](size_t i) -> const TensorHook* {
      return i >= hooks_.size() ? nullptr : hooks_[i].first == slot ? &hooks_[i].second : &none;
    });
  for (const auto& [at, cell] : retained_grads_)
    if (at == slot) *cell = cell->defined() ? cell->add(grad) : grad.clone(MemoryFormat::Contiguous);
  return grad;
}
Tensor Node::make_zero_grad(size_t i) const {
  return core::empty(input_metadata_[i].sizes, input_metadata_[i].dtype, input_metadata_[i].device).zero_();
}

void connect_node(const NodePtr& node, ArrayRef<Tensor*> outputs, TensorRefs inputs, TensorRefs saved) {
  for (const Tensor& input : inputs) node->add_next_edge(input);
  for (Tensor* output : outputs)
    if (output->defined() && output->is_floating_point())
      set_history(*output, node);
    else
      node->add_output(*output);
  for (const Tensor& t : saved) {
    // An integer output has no history, and must not get one when it is unpacked.
    const bool is_output = t.defined() && t.is_floating_point() &&
                           std::any_of(outputs.begin(), outputs.end(), [&](Tensor* o) { return o->is_same(t); });
    node->save_tensor(t, is_output);
  }
}
void connect_node(const NodePtr& node, ArrayRef<Tensor*> outputs, ArrayRef<Tensor> inputs, TensorRefs saved) {
  for (const Tensor& input : inputs) node->add_next_edge(input);
  connect_node(node, outputs, TensorRefs{}, saved);
}

}  // namespace tandem::autograd
