// Steps of optimizers and what runs over all their tensors, contiguous; float32 and float64.
#pragma once
#include <vector>

#include "tandem/kernels/declare.h"

namespace tandem::kernels {
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled, amsgrad;  // decoupled: AdamW
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, first;
};
}  // namespace tandem::kernels

/// One fused pass over all parameters; steps[i] counts from 1
TANDEM_KERNEL(void adam(const AdamStep& step, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,
                        std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs,
                        std::vector<Tensor>& exp_avg_sqs, std::vector<Tensor>& max_exp_avg_sqs))
TANDEM_KERNEL(void sgd(const SgdStep& step, const std::vector<Tensor>& gradients, std::vector<Tensor>& parameters,
                       std::vector<Tensor>& momenta))
/// Sum () float64 of the squares of all elements of contiguous tensors of one dtype
TANDEM_KERNEL(void sum_of_squares(const std::vector<Tensor>& tensors, Tensor& sum))
/// Every element times the factor, or plus the number; contiguous tensors of one dtype
TANDEM_KERNEL(void scale_all(double factor, std::vector<Tensor>& tensors))
TANDEM_KERNEL(void add_to_all(double number, std::vector<Tensor>& tensors))
