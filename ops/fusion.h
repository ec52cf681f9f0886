// Support for fused operations: several operations that run as one, without intermediate tensors.
#pragma once
#include <atomic>

#include "tandem/autograd/engine.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Whether operations are fused; set by nn::set_layer_fusion.
inline std::atomic<bool> layer_fusion_enabled = true;

/// Computes the backward of a fused operation when second derivatives are required. compose(inputs) does the same
/// computation with differentiable operations; this function returns its gradients with their graph. The gradient is
/// undefined for inputs that require none. Gradients are taken with respect to views of the inputs, so hooks of the
/// inputs do not run here, and an input given twice gets two separate gradients.
template <class Compose>
std::vector<Tensor> compute_composed_gradients(const Compose& compose, std::vector<Tensor> inputs, const Tensor& dy) {
  std::vector<Tensor> views;
  std::vector<size_t> positions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    inputs[i] = inputs[i].view(inputs[i].sizes());
    views.push_back(inputs[i]);
    positions.push_back(i);
  }
  const auto grads = autograd::grad({compose(inputs)}, views, {dy}, /*retain_graph=*/true, /*create_graph=*/true);
  std::vector<Tensor> all(inputs.size());
  for (size_t i = 0; i < grads.size(); ++i) all[positions[i]] = grads[i];
  return all;
}

}  // namespace tandem::detail
