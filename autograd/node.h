// The backward graph: a Node for each recorded operation, edges to the nodes of its inputs, and saved tensors.
#pragma once
#include <any>
#include <mutex>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

class Node;
using Variable = Tensor;  // LibTorch's older name
/// LibTorch's older names for a list of tensors.
using variable_list = std::vector<Tensor>;
using tensor_list = std::vector<Tensor>;

namespace detail {

using NodePtr = std::shared_ptr<Node>;
/// A list of gradients. A node receives one for each result of its operation, and returns one for each argument. An
/// undefined tensor means zero.
using Grads = std::vector<Tensor>;

}  // namespace detail

/// An edge of the backward graph: leads to input number `input_nr` of a node.
struct Edge {
  /// The node that receives the gradient; null if no gradient is needed.
  std::shared_ptr<Node> function;
  /// Index of the input.
  uint32_t input_nr = 0;
  bool is_valid() const { return function != nullptr; }  // whether the edge leads to a node
};

namespace detail {

/// Functions of a saved_tensors_hooks guard: `pack` converts a tensor when it is saved, `unpack` converts it back when
/// backward needs it.
struct SavedTensorHooks {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};
/// Stack trace, parent node and module of a node, kept in anomaly mode and while tracing: autograd/anomaly_mode.h.
struct AnomalyMetadata;
struct PackedTensor;

/// A tensor saved for backward, with its version at that time. An output of the saving node is kept detached, so that
/// the node does not own itself; unpack() restores the output's history.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// Saves a tensor; `is_output` if it is an output of the saving node. @throws Error for an inference tensor
  SavedTensor(const Tensor& tensor, bool is_output);
  /// Returns the saved tensor. @throws Error that names op, shape and versions if the tensor was changed in place since
  Tensor unpack(const Node& owner) const;
  /// Returns a saved tensor that is not an output. @param owner  name of the saving operation, for errors
  Tensor unpack(const std::string& owner) const;

 private:
  Tensor tensor_;
  // result of the pack hook, used instead of tensor_ if hooks packed the tensor
  std::shared_ptr<const PackedTensor> packed_;
  uint32_t saved_version_ = 0, output_nr_ = 0;
  bool is_output_ = false;
};

/// Gives a node's backward function access to the saved tensors, and tells it which gradients are needed.
class BackwardContext {
 public:
  explicit BackwardContext(const Node& node) : node_(node) {}
  /// Saved tensor number i. @throws Error if it was changed in place since it was saved
  Tensor saved(size_t i) const;
  /// Whether the running backward needs the gradient of input i.
  bool needs_grad(size_t i) const;
  /// Returns dx, the gradient of input i, for an operation whose gradient is piecewise constant in that input. If
  /// backward itself is recorded, the result gets a history that leads to the input, with a derivative of zero, as in
  /// PyTorch.
  Tensor attach_zero_derivative(size_t i, const Tensor& dx) const;
  /// As attach_zero_derivative(), for a kernel that computes the gradients of several inputs: as in PyTorch, each
  /// result gets a history that leads to all of the inputs. The derivative is an undefined tensor rather than zeros.
  Tensor attach_zero_derivative(std::initializer_list<size_t> inputs, const Tensor& dx) const;

 private:
  const Node& node_;
};

using TensorHook = std::function<Tensor(const Tensor&)>;
/// Passes a gradient through the hooks at(0), at(1), ... until `at` returns null. A hook may add and remove hooks,
/// itself included.
/// @param where  describes the tensor in errors
Tensor apply_hooks(Tensor grad, const std::string& where, const std::function<const TensorHook*(size_t)>& at);

}  // namespace detail

/// A recorded operation in the backward graph. Inputs of the node are the gradients of the operation's results; outputs
/// of the node are the gradients of the operation's arguments. Derived classes, custom Functions among them, define
/// apply().
class Node : public std::enable_shared_from_this<Node> {
 public:
  explicit Node(std::string name);
  virtual ~Node();
  Node(const Node&) = delete;

  /// Computes the gradients of the operation's arguments from the gradients of its results.
  virtual detail::Grads apply(detail::Grads&& grads) = 0;
  /// Drops the saved tensors, after a backward that does not retain the graph.
  virtual void release_variables();

  /// Name of the operation, for example "mul" or "conv2d".
  const std::string& name() const { return name_; }
  /// Edges to the nodes that receive the gradients of the arguments, one for each argument.
  const std::vector<Edge>& edges() const { return edges_; }
  /// Number that increases with each node made by a thread. Of the nodes that are ready, backward runs the accumulators
  /// of leaves first, then the node with the highest number.
  uint64_t sequence_nr() const { return sequence_nr_; }
  /// Device on which the node's backward runs.
  Device device() const { return device_; }
  /// Streams that were current when the node was made; the node's backward runs on them too.
  const cuda::detail::Streams& streams() const { return streams_; }
  /// Whether the saved tensors were released, so that a second backward is an error.
  bool is_released() const { return released_; }
  /// Whether an argument needs a gradient.
  bool needs_grad(size_t input) const { return input < edges_.size() && edges_[input].is_valid(); }
  /// Number of inputs of the node, by LibTorch's name: gradients of the operation's results.
  uint32_t num_inputs() const { return static_cast<uint32_t>(input_metadata_.size()); }
  /// Number of outputs of the node, by LibTorch's name: gradients of the operation's arguments.
  uint32_t num_outputs() const { return static_cast<uint32_t>(edges_.size()); }
  /// edges() by LibTorch's name.
  const std::vector<Edge>& next_edges() const { return edges_; }
  /// Edge to the node that receives the gradient of the argument with index `output`.
  const Edge& next_edge(size_t output) const { return edges_.at(output); }
  /// needs_grad() by LibTorch's name.
  bool should_compute_output(size_t output) const { return needs_grad(output); }
  /// Whether the backward running on this thread needs the gradient of an input. grad(), and backward() with `inputs`,
  /// need only gradients that lead to the requested tensors. Outside of a backward, same as needs_grad().
  bool task_should_compute_output(size_t input) const;
  /// Saved tensor number i. @throws Error if the saved tensors were released
  const detail::SavedTensor& saved(size_t i) const {
    TANDEM_CHECK(
        !released_, "backward of ", name_,
        ": Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time");
    return saved_.at(i);
  }

  /// Appends an edge to the node that receives the gradient of `input`, or an empty edge if `input` needs no gradient.
  void add_next_edge(const Tensor& input);
  /// Replaces all edges.
  void set_next_edges(std::vector<Edge> edges);
  /// Adds an output with its shape, dtype and device, which its gradient must match. Returns its slot number.
  uint32_t add_output(const Tensor& output);
  /// Saves a tensor for backward: an argument of the operation, or (is_output) a result.
  void save_tensor(const Tensor& tensor, bool is_output);

  /// Adds a hook that is called with the complete gradient of a slot, which is the index of a result. Hooks run in the
  /// order of addition. Returns the position for remove_hook().
  unsigned add_hook(uint32_t slot, detail::TensorHook hook);
  /// Removes the hook at a position returned by add_hook().
  void remove_hook(unsigned position);
  /// Makes backward add the gradient of a slot, after the hooks, to `cell`, until remove_retained_grad() is called.
  void add_retained_grad(uint32_t slot, std::shared_ptr<Tensor> cell);
  /// Ends add_retained_grad() for this cell.
  void remove_retained_grad(const std::shared_ptr<Tensor>& cell);
  /// The slots whose gradients are retained, each with its tensor, as passed to add_retained_grad().
  const std::vector<std::pair<uint32_t, std::shared_ptr<Tensor>>>& retained_grads() const { return retained_grads_; }
  /// Applies the hooks of a slot to `grad`, adds the result to the tensors in which the slot's gradient is retained,
  /// and returns it.
  virtual Tensor run_hooks(uint32_t slot, Tensor grad) const;

  /// Properties that the gradient of a result must have.
  struct InputMetadata {
    /// Sizes of the result.
    tandem::detail::Shape sizes;
    /// Dtype of the result.
    DType dtype = DType::float32;
    /// Device of the result.
    Device device;
  };
  /// Properties (sizes, dtype, device) that the gradient of result i must have.
  const InputMetadata& input_metadata(size_t i) const { return input_metadata_[i]; }
  /// Whether t has the sizes, dtype and device of result i.
  bool matches_input_metadata(size_t i, const Tensor& t) const {
    return input_metadata_[i].sizes == t.sizes() && input_metadata_[i].dtype == t.dtype() &&
           input_metadata_[i].device == t.device();
  }
  /// Zeros with the sizes, dtype and device of result i, for a result without gradient.
  Tensor make_zero_grad(size_t i) const;
  /// Stack trace, parent node and module of this node, if it was made in anomaly mode or while tracing; else null.
  const std::shared_ptr<const detail::AnomalyMetadata>& anomaly_metadata() const { return anomaly_metadata_; }

 protected:
  uint64_t sequence_nr_;
  Device device_;

 private:
  cuda::detail::Streams streams_;
  std::string name_;
  std::shared_ptr<const detail::AnomalyMetadata> anomaly_metadata_;
  std::vector<Edge> edges_;
  std::vector<detail::SavedTensor> saved_;
  std::vector<InputMetadata> input_metadata_;
  std::vector<std::pair<uint32_t, detail::TensorHook>> hooks_;
  std::vector<std::pair<uint32_t, std::shared_ptr<Tensor>>> retained_grads_;
  bool released_ = false;
};

/// Node that accumulates the gradient of a leaf. The leaf does not own the node, which lives as long as a graph or
/// other code refers to it.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  detail::Grads apply(detail::Grads&& grads) override;
  void release_variables() override {}
  Tensor run_hooks(uint32_t slot, Tensor grad) const override;  // runs the hooks that are registered on the leaf
  /// The leaf whose gradient is accumulated.
  const Tensor& variable() const { return variable_; }
  /// Adds a hook that is called after each accumulation. Returns the position for remove_post_hook().
  unsigned add_post_hook(std::function<void(const Tensor& variable)> hook);
  /// Removes the hook at a position returned by add_post_hook().
  void remove_post_hook(unsigned position);
  /// Sets the tensor that will hold the gradient, for example a slice of a DistributedDataParallel bucket. The first
  /// gradient is copied into it. `memory` must have its own version counter.
  void set_grad_buffer(const Tensor& memory) { grad_buffer_ = memory; }

 private:
  void accumulate_grad(Tensor new_grad);

  Tensor variable_, grad_buffer_;
  std::mutex mutex_;  // guards the gradient and the post-hooks, because graphs on several threads may share a leaf
  std::vector<std::function<void(const Tensor&)>> post_hooks_;
};

namespace detail {
/// Returns the leaf's accumulator, creating it if needed. @throws Error unless `leaf` is a leaf that requires a
/// gradient
std::shared_ptr<AccumulateGrad> grad_accumulator(const Tensor& leaf);
/// Returns the edge along which backward sends the gradient of a tensor: to its node, to its accumulator, or an empty
/// edge.
Edge gradient_edge(const Tensor& tensor);
inline bool tensor_requires_grad(const Tensor& t) { return t.defined() && t.impl()->autograd && t.requires_grad(); }
/// Makes `t` the next output of `node`.
void set_history(const Tensor& t, const NodePtr& node);
}  // namespace detail

namespace impl {
/// Returns the edge along which backward sends the gradient of a tensor: to its grad_fn(), to its accumulator if it is
/// a leaf that requires a gradient, or an empty edge.
inline Edge gradient_edge(const Tensor& tensor) { return detail::gradient_edge(tensor); }
/// The node that accumulates the gradient of a leaf; null if the leaf requires none.
inline std::shared_ptr<Node> grad_accumulator(const Tensor& leaf) {
  return leaf.requires_grad() ? detail::grad_accumulator(leaf) : nullptr;
}
}  // namespace impl

}  // namespace tandem::autograd
