// Backward: runs each node of the graph once all of its gradients have arrived, without recursion.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// Adds the gradients of sum_i (tensors[i] * grad_tensors[i]).sum() to grad() of the leaves that the tensors depend on,
/// or only of `inputs` if given. An undefined grad_tensor means 1, and requires a tensor with one element. On GPUs each
/// operation runs on the stream of its forward; the gradients are ready on the streams that are current at the call.
/// @param retain_graph  keep saved tensors, so that backward can run again; default: create_graph
/// @param create_graph  record the backward itself, for higher derivatives
/// @throws Error if a tensor or an input does not require a gradient, if shapes do not match, or if the graph was
/// already released
void backward(TensorList tensors, TensorList grad_tensors = {}, std::optional<bool> retain_graph = {},
              bool create_graph = false, TensorList inputs = {});

/// Returns the gradients with respect to `inputs`, without adding them to any grad(). If the outputs do not depend on
/// an input, this is an error, or with `allow_unused` the gradient is undefined. If an input has hooks, the hooks'
/// result is returned. Exception, as in PyTorch: if the input was computed from another requested input, its gradient
/// before the hooks is returned. @throws Error as backward()
variable_list grad(TensorList outputs, TensorList inputs, TensorList grad_outputs = {},
                   std::optional<bool> retain_graph = {}, bool create_graph = false, bool allow_unused = false);

namespace detail {

/// Whether the backward running on this thread accumulates gradients into grad() of this leaf. backward() with `inputs`
/// accumulates only into these tensors, and grad() accumulates into no leaf. False outside of a backward.
bool should_accumulate_grad(const AccumulateGrad& leaf);

/// Whether a backward is running on this thread.
bool is_backward_running();

/// Runs `callback` after the backward running on this thread is complete, before it returns. If the backward throws,
/// the callback is destroyed without being called. @throws Error outside of a backward
void queue_callback(std::function<void()> callback);

}  // namespace detail

}  // namespace tandem::autograd
