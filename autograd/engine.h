// Backward: walks the graph from its outputs, each node once all that feeds it has arrived. No recursion.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// Adds the gradients of sum_i <tensors[i], grad_tensors[i]> into grad() of the leaves that the tensors depend on (or
/// of `inputs` alone). An undefined grad_tensor stands for 1 and needs a tensor of one element. On GPUs, each operation
/// runs on the stream of its forward; the gradients are ready on the streams that are current at the call.
/// @param retain_graph  keep what was saved, so that backward can run again; create_graph by default
/// @param create_graph  record the backward itself, for higher derivatives
/// @throws Error when a tensor does not require a gradient, a shape clashes, or the graph was already released
void backward(TensorList tensors, TensorList grad_tensors = {}, std::optional<bool> retain_graph = {},
              bool create_graph = false, TensorList inputs = {});

/// The gradients with respect to `inputs`, returned and not added anywhere. An input that the outputs do not depend on
/// is an error unless `allow_unused`, which returns an undefined tensor for it. Of an input with hooks it is what the
/// hooks make of the gradient; but, as in PyTorch, what came to them where an input is asked for that this one was made
/// of.
variable_list grad(TensorList outputs, TensorList inputs, TensorList grad_outputs = {},
                   std::optional<bool> retain_graph = {}, bool create_graph = false, bool allow_unused = false);

namespace detail {

/// Whether the backward that is running on this thread adds a gradient that comes to this leaf to its grad(): one to
/// `inputs` alone does so for those, and grad() for none. False outside a backward.
bool accumulates_into(const AccumulateGrad& leaf);

/// Whether a backward is running on this thread.
bool is_backward_running();

/// Runs `callback` when the backward that is running on this thread is complete, before it returns. @throws Error
/// outside a backward
void queue_callback(std::function<void()> callback);

}  // namespace detail

}  // namespace tandem::autograd
