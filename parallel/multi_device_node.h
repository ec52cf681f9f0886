// Records a step of data parallelism as one autograd node, with inputs and outputs on several devices.
#pragma once
#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::nn::parallel::detail {

/// Function that computes the gradients of a node's inputs from the gradients of its outputs. Some of these gradients
/// may be undefined.
using MultiDeviceBackward = std::function<autograd::Grads(const autograd::Node& node, autograd::Grads& grads)>;

/// Records one autograd node whose outputs are `outputs`, in this order. Its backward runs on the worker thread of the
/// device `node_device`. Does nothing if no input requires a gradient. Outputs whose dtype is not floating-point get no
/// history.
/// @param replicas  devices of the replicas that computed the inputs; each replica has the same number of inputs. If
///                  the backward of a replica throws, the exception is rethrown with the replica's number and device in
///                  the message
void record_multi_device_node(const char* name, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              Device node_device, MultiDeviceBackward backward, std::vector<Device> replicas = {});

}  // namespace tandem::nn::parallel::detail
