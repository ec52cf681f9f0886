// Checks that all ranks have bitwise equal parameters, by exchanging hashes instead of values. Internal.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// Returns a hash of the elements' bits in row-major order, independent of strides. Tensors of equal size that differ
/// in one element always have different hashes. The values of a CUDA tensor are copied to the host.
uint64_t checksum(const Tensor& x);

/// Checks that tensors of the same names are bitwise equal on all ranks. All ranks must call it. Each rank sends one
/// hash of all tensors, and only if these differ one hash per tensor.
/// @param who  name of the caller, in front of the error message
/// @throws Error on every rank, naming the first tensor that differs, and the ranks whose value is not the most common
/// one; of equally common values, rank 0's counts as correct
[[gnu::cold]] void check_same_values(const std::string& who, const NamedParameters& tensors,
                                     distributed::ProcessGroup& group);

}  // namespace tandem::nn::parallel::detail
