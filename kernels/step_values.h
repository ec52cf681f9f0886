// Scalars of optimizer steps that may change from one step to the next. Kernels read them from memory, so that a
// recorded step (a graph) runs with the current values. Plain data, because CPU loops and GPU kernels include this
// file.
#pragma once

namespace tandem::kernels {

/// Last member of the values of a step. A step of a GradScaler replaces it by numbers that are computed on the device.
struct GradientScaling {
  double found_inf = 0;  // if not 0, the step changes nothing
  double factor = 1;     // multiplies the gradients
};
struct AdamValues {
  double lr, beta1, beta2, one_minus_beta1,
      one_minus_beta2;  // one_minus_beta1 = 1 - beta1, one_minus_beta2 = 1 - beta2
  double eps;
  double weight_decay;  // L2 penalty: weight_decay * parameter is added to the gradient
  double decay_factor;  // decoupled weight decay: the parameter is multiplied by decay_factor
  GradientScaling scaling = {};
};
struct SgdValues {
  double lr, momentum, weight_decay;
  double buffer_factor, grad_factor;  // new momentum buffer = buffer_factor * momentum buffer + grad_factor * gradient
  GradientScaling scaling = {};
};

}  // namespace tandem::kernels
