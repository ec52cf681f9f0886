// Numbers that may change from one step of an optimizer to the next. Kernels read them from memory, so that a step that
// was recorded runs with the latest ones. Plain data: loops and GPU kernels include it.
#pragma once

namespace tandem::kernels {

struct AdamValues {
  double lr, beta1, beta2, rest1, rest2;  // rest: 1 - beta
  double eps;
  double added;   // weight decay: this much of the parameter is added to its gradient
  double shrink;  // decoupled weight decay: the parameter is multiplied with it
};
struct SgdValues {
  double lr, momentum, decay;
  double old, added;  // how much of itself and of the gradient the momentum buffer becomes
};

}  // namespace tandem::kernels
