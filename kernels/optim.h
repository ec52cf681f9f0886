// Steps of optimizers and what runs over all their tensors, contiguous, of floating dtypes. The state is of the
// parameter's dtype; a step is computed in float for half types.
#pragma once
#include "tandem/kernels/declare.h"
#include "tandem/kernels/step_values.h"

/// One fused pass over all parameters. `values` holds AdamValues; steps[i] counts from 1; the maxima may be undefined
TANDEM_KERNEL(void adam(const Tensor& values, bool amsgrad, const std::vector<Tensor>& gradients,
                        const std::vector<Tensor>& steps, std::vector<Tensor>& parameters,
                        std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
                        std::vector<Tensor>& max_exp_avg_sqs))
/// `values` holds SgdValues; without `momentum` there are no buffers
TANDEM_KERNEL(void sgd(const Tensor& values, bool momentum, bool nesterov, const std::vector<Tensor>& gradients,
                       std::vector<Tensor>& parameters, std::vector<Tensor>& momenta))
/// Sums (blocks) float64 of the squares of each block of `length` elements. The tensors are contiguous and of one
/// dtype, and their blocks follow each other; the last block of a tensor may be shorter
TANDEM_KERNEL(void sums_of_squares(const std::vector<Tensor>& tensors, int64_t length, Tensor& sums))
/// Every element times the factor, or plus the number; contiguous tensors of one dtype
TANDEM_KERNEL(void scale_all(double factor, std::vector<Tensor>& tensors))
TANDEM_KERNEL(void add_to_all(double number, std::vector<Tensor>& tensors))
