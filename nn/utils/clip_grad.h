// Norms and clipping of gradients, under the names of torch::nn::utils.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// Number of elements in a block. Each tensor is divided into blocks; its last block may be shorter. A norm is computed
/// for each block, and these norms are combined. Elements are taken in memory order, or in index order if the tensor
/// has gaps in memory.
constexpr int64_t kNormBlock = 4096;
/// Gathers the blocks of sharded tensors. Every shard must begin at a multiple of kNormBlock from the start of its
/// tensor. The function gets one float64 number for each block of this rank's shards and returns the numbers of all
/// ranks' blocks. If it returns them in the order of the blocks in the whole tensors, the norm is bit-equal to the norm
/// of the whole tensors. A simple implementation is an all-reduce (sum) of vectors of all blocks, where each rank sets
/// the blocks of other ranks to 0. It is called once for the norms 1, 2 and infinity, and twice for other norms, which
/// first need the largest element.
using GatherBlocks = std::function<Tensor(const Tensor& blocks)>;

/// Scales all gradients so that their joint p-norm is at most max_norm, and returns the norm before scaling. A
/// parameter that is listed twice counts once. The norms 1, 2 and infinity take one pass over all gradients together;
/// the 2-norm is computed in float64.
/// @param norm_type  p: any number that norm() accepts. 0 counts the gradients that have a non-zero element, as in
///                   PyTorch, and cannot be combined with `gather`
/// @param gather     given if the parameters are shards; each rank then scales its own shards
/// @throws Error if the norm is not finite and error_if_nonfinite is true
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false, const GatherBlocks& gather = nullptr);
inline double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2,
                              bool error_if_nonfinite = false) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}
/// Returns the joint norm of all tensors, on the device and in the dtype of the first; 0 for an empty list.
/// @param gather  given if the tensors are shards
/// @throws Error if the norm is infinite or NaN and `error_if_nonfinite` is true, which reads the norm on the host
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2, bool error_if_nonfinite = false,
                      const GatherBlocks& gather = nullptr);
/// Scales the gradients by max_norm / (total_norm + 1e-6) if that factor is below 1. The host reads no value, so a
/// Graph can record this function and get_total_norm; it cannot record clip_grad_norm_.
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm);
/// Clamps every gradient to [-clip_value, clip_value].
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
inline void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

}  // namespace tandem::nn::utils
