// Whether all ranks have the same parameters, to the last bit: by hashes, which are small enough to be exchanged.
// Internal.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// A hash of the elements' bits, whatever the strides. Two tensors of one size that differ in one element always have
/// different ones. Of a CUDA tensor the values are copied to the host.
uint64_t checksum(const Tensor& x);

/// All ranks call it with tensors of the same names. One number travels for each rank and, where these differ, one for
/// each tensor.
/// @param who  in front of the error
/// @throws Error on every rank, naming the first tensor that is not the same on all, and the ranks where it is not what
/// most ranks have; where as many have the one as the other, what rank 0 has counts
[[gnu::cold]] void check_same_values(const std::string& who, const NamedParameters& tensors,
                                     distributed::ProcessGroup& group);

}  // namespace tandem::nn::parallel::detail
