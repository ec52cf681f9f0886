// Operations that are computed as one, without their intermediate results.
#pragma once
#include <atomic>

#include "tandem/autograd/engine.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Whether that is done: nn::set_layer_fusion.
inline std::atomic<bool> fusing = true;

/// What such an operation's backward returns where second derivatives are wanted: the gradients of compose(inputs),
/// which is made of other operations, with their history; undefined for inputs that take none. They are taken for views
/// of the inputs, so that hooks of these do not run, and one that is given twice has two gradients.
template <class Compose>
std::vector<Tensor> recorded_gradients(const Compose& compose, std::vector<Tensor> inputs, const Tensor& dy) {
  std::vector<Tensor> views;
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    inputs[i] = inputs[i].view(inputs[i].sizes());
    views.push_back(inputs[i]);
    places.push_back(i);
  }
  const auto grads = autograd::grad({compose(inputs)}, views, {dy}, /*retain_graph=*/true, /*create_graph=*/true);
  std::vector<Tensor> all(inputs.size());
  for (size_t i = 0; i < grads.size(); ++i) all[places[i]] = grads[i];
  return all;
}

}  // namespace tandem::detail
