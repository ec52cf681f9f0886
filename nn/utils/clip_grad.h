// Norms of gradients, and how they are kept small. torch::nn::utils' names.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// Norms add up over blocks of so many elements, which begin at a tensor's first one; a tensor's last block may have
/// fewer. The blocks are of the elements as memory has them, or where that has gaps as indices count them.
constexpr int64_t kNormBlock = 4096;
/// Makes the norm of tensors that lie in parts on several ranks, each part cut at a multiple of kNormBlock from its
/// tensor's start or at the end. It is given a float64 number for each block of this rank's parts, one after the other,
/// and returns those of all blocks on all ranks. Where these are in the order of the whole tensors, the norm has the
/// bits that these would have on one rank. A sum over the ranks of vectors that are 0 where a block is another rank's
/// does it. It is called once for the norms 0, 1, 2 and infinity, and twice for others, which need the largest element.
using GatherBlocks = std::function<Tensor(const Tensor& blocks)>;

/// Scales all gradients so that their joint p-norm is at most max_norm; returns the norm before. Any p that norm()
/// takes; a parameter listed twice counts once. The 2-norm is one pass over all gradients together, in float64.
/// @param gather  where the parameters are parts; each rank then scales its own
/// @throws Error when the norm is not finite and error_if_nonfinite
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false, const GatherBlocks& gather = nullptr);
inline double clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2,
                              bool error_if_nonfinite = false) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}
/// The norm of all the tensors taken as one vector, on the first one's device and of its dtype; of none it is 0.
/// @param gather  where the tensors are parts
/// @throws Error when it is infinite or NaN and `error_if_nonfinite`, which reads it on the host
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type = 2, bool error_if_nonfinite = false,
                      const GatherBlocks& gather = nullptr);
/// Scales the gradients by max_norm / (total_norm + 1e-6) where that is below 1, without a value that the host reads:
/// with get_total_norm what a Graph records in the place of clip_grad_norm_.
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm);
/// Clamps every gradient to [-clip_value, clip_value].
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
inline void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

}  // namespace tandem::nn::utils
