// Records a step of data parallelism in autograd, as a node with inputs and outputs on several devices.
#pragma once
#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::nn::parallel::detail {

/// Computes the gradients of the inputs from the gradients of the outputs, some of which may be undefined.
using StepBackward = std::function<autograd::Grads(const autograd::Node& node, autograd::Grads& grads)>;

/// Makes `outputs`, in this order, the outputs of one node, whose backward runs on the worker thread of `home`. Does
/// nothing if no input requires a gradient. Outputs that are not floating-point get no history.
/// @param replicas  devices of the replicas that made the inputs, the same number of inputs each. An exception in the
///                  backward of one of these replicas is rethrown with the replica's number and device in the message
void record_step(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, Device home,
                 StepBackward backward, std::vector<Device> replicas = {});

}  // namespace tandem::nn::parallel::detail
