// Implements record_step(): records a step of data parallelism as one autograd node.
#include "tandem/parallel/step_node.h"

#include <algorithm>

#include "tandem/autograd/graph_task.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::nn::parallel::detail {
namespace {

class StepNode final : public autograd::Node, public autograd::JoinsBranches {
 public:
  StepNode(const char* name, StepBackward backward, std::vector<Device> replicas)
      : Node(name), backward_(std::move(backward)), replicas_(std::move(replicas)) {}
  size_t branches() const override { return replicas_.size(); }
  void rethrow(const std::exception_ptr& exception, size_t branch) const override {
    tandem::detail::rethrow_named(exception, "replica " + std::to_string(branch) + " on " + replicas_[branch].str());
  }
  autograd::Grads apply(autograd::Grads&& grads) override { return backward_(*this, grads); }
  void run_on(Device home) { device_ = home; }

 private:
  StepBackward backward_;
  std::vector<Device> replicas_;
};

}  // namespace

void record_step(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, Device home,
                 StepBackward backward, std::vector<Device> replicas) {
  if (!is_grad_enabled() || std::none_of(inputs.begin(), inputs.end(), autograd::wants_grad)) return;
  const auto node = std::make_shared<StepNode>(name, std::move(backward), std::move(replicas));
  for (const Tensor& input : inputs) node->add_input(input);
  for (const Tensor& output : outputs)
    if (output.is_floating_point())
      autograd::set_history(output, node);
    else
      node->add_output(output);
  node->run_on(home);  // after the outputs, because adding an output moves the node to the output's device
}

}  // namespace tandem::nn::parallel::detail
