// Implements record_multi_device_node(): records a step of data parallelism as one autograd node.
#include "tandem/parallel/multi_device_node.h"

#include <algorithm>

#include "tandem/autograd/graph_task.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::nn::parallel::detail {
namespace {

class MultiDeviceNode final : public autograd::Node, public autograd::MultiBranchNode {
 public:
  MultiDeviceNode(const char* name, MultiDeviceBackward backward, std::vector<Device> replicas)
      : Node(name), backward_(std::move(backward)), replica_devices_(std::move(replicas)) {}
  size_t num_branches() const override { return replica_devices_.size(); }
  void rethrow(const std::exception_ptr& exception, size_t branch) const override {
    tandem::detail::rethrow_named(exception,
                                  "replica " + std::to_string(branch) + " on " + replica_devices_[branch].str());
  }
  autograd::Grads apply(autograd::Grads&& grads) override { return backward_(*this, grads); }
  void set_device(Device node_device) { device_ = node_device; }

 private:
  MultiDeviceBackward backward_;
  std::vector<Device> replica_devices_;
};

}  // namespace

void record_multi_device_node(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              Device node_device, MultiDeviceBackward backward, std::vector<Device> replicas) {
  if (!is_grad_enabled() || std::none_of(inputs.begin(), inputs.end(), autograd::tensor_requires_grad)) return;
  const auto node = std::make_shared<MultiDeviceNode>(name, std::move(backward), std::move(replicas));
  for (const Tensor& input : inputs) node->add_next_edge(input);
  for (const Tensor& output : outputs)
    if (output.is_floating_point())
      autograd::set_history(output, node);
    else
      node->add_output(output);
  node->set_device(node_device);  // after the outputs, because adding an output moves the node to the output's device
}

}  // namespace tandem::nn::parallel::detail
