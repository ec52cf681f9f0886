#include "tandem/parallel/step_node.h"

#include <algorithm>

#include "tandem/autograd/record.h"

namespace tandem::nn::parallel::detail {
namespace {

class StepNode final : public autograd::Node {
 public:
  StepNode(const char* name, StepBackward backward) : Node(name), backward_(std::move(backward)) {}
  autograd::Grads apply(autograd::Grads&& grads) override { return backward_(*this, grads); }
  void run_on(Device home) { device_ = home; }

 private:
  StepBackward backward_;
};

}  // namespace

void record_step(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, Device home,
                 StepBackward backward) {
  if (!is_grad_enabled() || std::none_of(inputs.begin(), inputs.end(), autograd::wants_grad)) return;
  const auto node = std::make_shared<StepNode>(name, std::move(backward));
  for (const Tensor& input : inputs) node->add_input(input);
  for (const Tensor& output : outputs)
    if (output.is_floating_point())
      autograd::set_history(output, node);
    else
      node->add_output(output);
  node->run_on(home);  // last: each output moved the node to its own device
}

}  // namespace tandem::nn::parallel::detail
