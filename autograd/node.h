// The backward graph: a Node per recorded operation, edges to the nodes of its inputs, and the tensors it saved.
#pragma once
#include <any>
#include <mutex>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

class Node;
using Variable = Tensor;  // LibTorch's older names
/// LibTorch's older names of a list of tensors.
using variable_list = std::vector<Tensor>;
using tensor_list = std::vector<Tensor>;

namespace detail {

using NodePtr = std::shared_ptr<Node>;
/// One gradient per output going in, one per input coming out; an undefined tensor stands for zero.
using Grads = std::vector<Tensor>;

}  // namespace detail

/// Leads to one input of a node: the gradient of that node's output number `input_nr`.
struct Edge {
  /// The node that takes the gradient; null where none is wanted.
  std::shared_ptr<Node> function;
  /// Which of that node's inputs it is.
  uint32_t input_nr = 0;
  bool is_valid() const { return function != nullptr; }  // whether it leads anywhere
};

namespace detail {

/// What a saved_tensors_hooks turns tensors into when they are saved, and back when backward needs them.
struct SavedTensorHooks {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};
/// Where in a program a node was made: autograd/anomaly_mode.h.
struct ForwardPlace;
struct PackedTensor;

/// A tensor kept for backward with the version it had. An output of the saving node itself is kept detached, so that a
/// node never owns itself, and gets its history back when it is unpacked.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// @throws Error for an inference tensor
  SavedTensor(const Tensor& tensor, bool is_output);
  /// @throws Error naming op, shape and versions when the tensor was changed in place since
  Tensor unpack(const Node& owner) const;
  /// The same of one that is no output. @param owner  what an error names
  Tensor unpack(const std::string& owner) const;

 private:
  Tensor tensor_;
  std::shared_ptr<const PackedTensor> packed_;  // in the place of tensor_ where hooks took it
  uint32_t version_ = 0, slot_ = 0;
  bool is_output_ = false;
};

/// What a backward sees besides the incoming gradients.
class Context {
 public:
  explicit Context(const Node& node) : node_(node) {}
  /// Saved tensor number i, as it was. @throws Error if it was changed in place since
  Tensor saved(size_t i) const;
  /// Whether the backward that is running wants the gradient of input i.
  bool needs_grad(size_t i) const;
  /// dx, the gradient of input i, where it depends on that input in steps or not at all. Where it may be differentiated
  /// again it gets a history that leads to the input, as PyTorch's has, with a derivative of zero.
  Tensor flat_in(size_t i, const Tensor& dx) const;
  /// As flat_in, where one kernel gives the gradients of several inputs: in PyTorch each leads to all of them. What is
  /// passed on is no gradient rather than zeros.
  Tensor flat_in(std::initializer_list<size_t> inputs, const Tensor& dx) const;

 private:
  const Node& node_;
};

using TensorHook = std::function<Tensor(const Tensor&)>;
/// Passes a gradient through hook 0, 1, ... until `at` gives null. A hook may add and remove hooks, itself included.
/// @param where  what an error names: the tensor whose gradient it is
Tensor apply_hooks(Tensor grad, const std::string& where, const std::function<const TensorHook*(size_t)>& at);

}  // namespace detail

/// A recorded operation: what backward walks through. Its inputs are the gradients of the operation's results, its
/// outputs those of the operation's arguments. Derived classes, among them a Function's, define apply().
class Node : public std::enable_shared_from_this<Node> {
 public:
  explicit Node(std::string name);
  virtual ~Node();
  Node(const Node&) = delete;

  /// The gradients of the inputs, given those of the outputs.
  virtual detail::Grads apply(detail::Grads&& grads) = 0;
  /// Drops what was saved, after a backward that does not retain the graph.
  virtual void release();

  /// The operation's name: "mul", "conv2d".
  const std::string& name() const { return name_; }
  /// Where the gradients of the arguments go, one edge for each argument.
  const std::vector<Edge>& edges() const { return edges_; }
  /// Counts up with each node that a thread makes: backward takes the latest first.
  uint64_t sequence() const { return sequence_; }
  /// The device on which its backward runs.
  Device device() const { return device_; }
  /// Those that were current when the node was made: its backward runs on them as well.
  const cuda::detail::Streams& streams() const { return streams_; }
  /// How many results the operation had.
  size_t slot_count() const { return slots_.size(); }
  /// Whether its saved tensors were released, so that a second backward is an error.
  bool released() const { return released_; }
  /// Whether an argument wants a gradient.
  bool needs_grad(size_t input) const { return input < edges_.size() && edges_[input].is_valid(); }
  /// LibTorch's names. The inputs of a node are gradients, those of the operation's results, and its outputs are the
  /// gradients of the operation's arguments, each with an edge to where it goes.
  uint32_t num_inputs() const { return static_cast<uint32_t>(slots_.size()); }
  /// How many arguments the operation had.
  uint32_t num_outputs() const { return static_cast<uint32_t>(edges_.size()); }
  /// edges() by LibTorch's name.
  const std::vector<Edge>& next_edges() const { return edges_; }
  /// Where the gradient of one argument goes.
  const Edge& next_edge(size_t output) const { return edges_.at(output); }
  /// needs_grad() by LibTorch's name.
  bool should_compute_output(size_t output) const { return needs_grad(output); }
  /// sequence() by LibTorch's name.
  uint64_t sequence_nr() const { return sequence_; }
  /// Whether the backward that runs on this thread wants the gradient of an input: grad(), and backward() to `inputs`,
  /// want those alone that lead to what was asked for. Outside a backward as needs_grad().
  bool task_should_compute_output(size_t input) const;
  /// Saved tensor number i. @throws Error when they were released
  const detail::SavedTensor& saved(size_t i) const {
    TANDEM_CHECK(!released_, "backward through ", name_,
                 " a second time: its saved tensors were released; pass retain_graph=true the first time");
    return saved_.at(i);
  }

  /// Appends an edge to where `input` gets its gradient, or an empty one.
  void add_input(const Tensor& input);
  /// Takes the place of all edges.
  void set_edges(std::vector<Edge> edges);
  /// Adds an output: shape, dtype and device of the gradient that slot expects. Returns the slot.
  uint32_t add_output(const Tensor& output);
  /// Keeps a tensor for backward, an argument or (is_output) a result.
  void save(const Tensor& tensor, bool is_output);

  /// Called in order on the gradient of a slot once it is complete. Returns a position for remove_hook.
  unsigned add_hook(uint32_t slot, detail::TensorHook hook);
  /// Removes the hook that add_hook() gave this position for.
  void remove_hook(unsigned position);
  /// Adds the gradient of a slot, as the hooks leave it, to `cell`; until it is told to forget that.
  void retain(uint32_t slot, std::shared_ptr<Tensor> cell);
  /// Ends what retain() began for this cell.
  void forget(const std::shared_ptr<Tensor>& cell);
  /// The slots and cells of retain().
  const std::vector<std::pair<uint32_t, std::shared_ptr<Tensor>>>& retained() const { return retained_; }
  /// Applies the hooks of a slot.
  virtual Tensor run_hooks(uint32_t slot, Tensor grad) const;

  /// What the gradient of a result must be like.
  struct Slot {
    /// The result's sizes.
    tandem::detail::Shape sizes;
    /// The result's dtype.
    DType dtype = DType::float32;
    /// Where the result was.
    Device device;
  };
  /// What slot number i expects.
  const Slot& slot(size_t i) const { return slots_[i]; }
  /// Whether a gradient of this slot is one of the tensor: of its sizes, dtype and device.
  bool fits(size_t i, const Tensor& t) const {
    return slots_[i].sizes == t.sizes() && slots_[i].dtype == t.dtype() && slots_[i].device == t.device();
  }
  /// A gradient of zeros for a slot whose output took no part.
  Tensor zeros_for(size_t i) const;
  /// Where it was made, if that was under anomaly mode; else null.
  const std::shared_ptr<const detail::ForwardPlace>& forward_place() const { return place_; }

 protected:
  uint64_t sequence_;
  Device device_;

 private:
  cuda::detail::Streams streams_;
  std::string name_;
  std::shared_ptr<const detail::ForwardPlace> place_;
  std::vector<Edge> edges_;
  std::vector<detail::SavedTensor> saved_;
  std::vector<Slot> slots_;
  std::vector<std::pair<uint32_t, detail::TensorHook>> hooks_;
  std::vector<std::pair<uint32_t, std::shared_ptr<Tensor>>> retained_;
  bool released_ = false;
};

/// Where a leaf's gradient is added up. Outlives backward only as long as a graph, or whoever asked for it, holds it.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  detail::Grads apply(detail::Grads&& grads) override;
  void release() override {}
  Tensor run_hooks(uint32_t slot, Tensor grad) const override;  // those of the leaf itself
  /// The leaf.
  const Tensor& variable() const { return variable_; }
  /// Called after a gradient was added. Returns a position for remove_post_hook.
  unsigned add_post_hook(std::function<void(const Tensor& variable)> hook);
  /// Removes the hook that add_post_hook() gave this position for.
  void remove_post_hook(unsigned position);
  /// Memory that the gradient is to live in (a bucket's), with a version of its own: the first arrival is copied in.
  void set_slot(const Tensor& memory) { memory_ = memory; }

 private:
  void accumulate(Tensor arrived);

  Tensor variable_, memory_;
  std::mutex mutex_;  // graphs on several threads may share a leaf
  std::vector<std::function<void(const Tensor&)>> post_hooks_;
};

namespace detail {
/// The leaf's accumulator, made when it has none. @throws Error unless it is a leaf that requires a gradient
std::shared_ptr<AccumulateGrad> grad_accumulator(const Tensor& leaf);
/// Where a tensor's gradient goes: its node, its accumulator, or nowhere.
Edge gradient_edge(const Tensor& tensor);
inline bool wants_grad(const Tensor& t) { return t.defined() && t.impl()->autograd && t.requires_grad(); }
/// Makes `t` the output `slot` of `node`.
void set_history(const Tensor& t, const NodePtr& node);
}  // namespace detail

namespace impl {
/// Where the gradient of a tensor goes: to its grad_fn(), to its accumulator if it is a leaf that requires a gradient,
/// or nowhere.
inline Edge gradient_edge(const Tensor& tensor) { return detail::gradient_edge(tensor); }
/// The node that adds up the gradient of a leaf; null where none is required.
inline std::shared_ptr<Node> grad_accumulator(const Tensor& leaf) {
  return leaf.requires_grad() ? detail::grad_accumulator(leaf) : nullptr;
}
}  // namespace impl

}  // namespace tandem::autograd
