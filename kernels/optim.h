// Optimizer steps, and operations over all tensors of an optimizer. Tensors are contiguous and of floating dtypes. The
// state of a parameter has the parameter's dtype; a step with half types is computed in float. In a call of adam or sgd
// all parameters have the same dtype, and so do all gradients: float64 for float64 parameters, any other dtype for the
// others. half_copies[i] is undefined or receives the new parameter, rounded to a half type, the same for all copies;
// the parameters are then float32 master weights.
#pragma once
#include "tandem/kernels/declare.h"
#include "tandem/kernels/step_values.h"

/// One fused Adam step over all parameters. `values` holds AdamValues; steps[i] counts from 1; max_exp_avg_sqs is used
/// only if `amsgrad`
TANDEM_DECLARE_KERNEL(void adam(const Tensor& values, bool amsgrad, const std::vector<Tensor>& gradients,
                                const std::vector<Tensor>& steps, std::vector<Tensor>& parameters,
                                std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
                                std::vector<Tensor>& max_exp_avg_sqs, std::vector<Tensor>& half_copies))
/// One fused SGD step over all parameters. `values` holds SgdValues. `momenta` holds the momentum buffers, and is used
/// only if `momentum`
TANDEM_DECLARE_KERNEL(void sgd(const Tensor& values, bool momentum, bool nesterov, const std::vector<Tensor>& gradients,
                               std::vector<Tensor>& parameters, std::vector<Tensor>& momenta,
                               std::vector<Tensor>& half_copies))
/// Reduces each block of `length` elements to a float64 number: the sum of squares for p = 2, the sum of absolute
/// values for p = 1, the largest absolute value for p = infinity, and the smallest for p = -infinity. The tensors are
/// contiguous and have the same dtype. `numbers` holds the blocks of one tensor after the other; the last block of a
/// tensor may be shorter
TANDEM_DECLARE_KERNEL(void reduce_blocks(const std::vector<Tensor>& tensors, double p, int64_t length, Tensor& numbers))
/// Multiplies every element by `factor`. The tensors are contiguous and have the same dtype
TANDEM_DECLARE_KERNEL(void scale_all(double factor, std::vector<Tensor>& tensors))
/// Adds `number` to every element, unless `skip` is defined and not 0 (float32, one element). The tensors are
/// contiguous and have the same dtype
TANDEM_DECLARE_KERNEL(void add_to_all(double number, const Tensor& skip, std::vector<Tensor>& tensors))
/// Multiplies every element by `factor` (float32, one element). Sets found_inf (float32, one element) to 1 if an
/// element was infinite or NaN before, and leaves it as it is otherwise. The tensors are contiguous and have the same
/// dtype
TANDEM_DECLARE_KERNEL(void unscale_all(const Tensor& factor, std::vector<Tensor>& gradients, Tensor& found_inf))
/// As unscale_all, but does not change the tensors
TANDEM_DECLARE_KERNEL(void find_non_finite(const std::vector<Tensor>& tensors, Tensor& found_inf))
/// Updates the scale of losses (float32) and its growth tracker (int32), one element each. If found_inf is not 0,
/// multiplies the scale by `backoff` and sets the tracker to 0. Else the tracker counts; when it reaches `interval`,
/// the scale is multiplied by `growth`, unless that is infinite, and the tracker becomes 0
TANDEM_DECLARE_KERNEL(void update_scale(const Tensor& found_inf, double growth, double backoff, int64_t interval,
                                        Tensor& scale, Tensor& growth_tracker))
