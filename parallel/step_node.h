// How the steps of data parallelism are recorded: a node with any number of inputs and outputs on several devices.
#pragma once
#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::nn::parallel::detail {

/// The gradients of the inputs, given those of the outputs, of which some may be undefined.
using StepBackward = std::function<autograd::Grads(const autograd::Node& node, autograd::Grads& grads)>;

/// Makes `outputs`, in this order, those of one node, whose backward runs on the worker of `home`. Nothing happens when
/// no gradient is wanted; outputs that are not floating stay without history.
/// @param replicas  where the inputs were made, as many inputs on each: what is thrown in the backward of one of these
///                  replicas is then thrown with its number and device in front
void record_step(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, Device home,
                 StepBackward backward, std::vector<Device> replicas = {});

}  // namespace tandem::nn::parallel::detail
