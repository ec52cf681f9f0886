// Normalisation of groups of channels: group_norm, native_group_norm. weight and bias are (C) or undefined.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Normalises each of num_groups groups of channels of each sample of x (N, C, ...).
/// @throws Error unless num_groups divides C
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// ---- LibTorch's forms with a last argument that says whether cuDNN may be used, which changes nothing
inline Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps,
                         bool /*cudnn_enabled*/) {
  return group_norm(x, num_groups, weight, bias, eps);
}
/// (y, mean, 1 / deviation): the statistics that the normalisation is made by, which have no gradient of their own.
/// x is of N samples, C channels and HxW elements in each of them; statistics are (N, group).
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps);

}  // namespace tandem
